package vet

import (
	"reflect"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// A scanner reads a file's tokens in step with a walk of its tree, which has no columns. Between two leaves of the tree are only brackets,
// separators and keywords, so the next token that matches a leaf is its position.
type scanner struct {
	tokens []ast.Token
	next   int
}

func (s *scanner) find(match func(ast.Token) bool) position {
	for i := s.next; i < len(s.tokens); i++ {
		if match(s.tokens[i]) {
			s.next = i + 1
			return position{s.tokens[i].Pos.Line, s.tokens[i].Pos.Column}
		}
	}
	return s.here()
}

func (s *scanner) word(words ...string) position {
	return s.find(func(t ast.Token) bool {
		if t.Type == parse.TString {
			return false
		}
		for _, w := range words {
			if t.Str == w {
				return true
			}
		}
		return false
	})
}

func (s *scanner) ident(name string) position {
	return s.find(func(t ast.Token) bool { return t.Type == parse.TIdent && t.Str == name })
}

func (s *scanner) number(text string) position {
	return s.find(func(t ast.Token) bool { return t.Type == parse.TNumber && t.Str == text })
}

func (s *scanner) string(text string) position {
	return s.find(func(t ast.Token) bool { return t.Type == parse.TString && t.Str == text })
}

// name finds a key: `.name`, `name =` or `['name']`.
func (s *scanner) name(text string) position {
	return s.find(func(t ast.Token) bool {
		return (t.Type == parse.TIdent || t.Type == parse.TString) && t.Str == text
	})
}

// follows reports whether the next token is that word.
func (s *scanner) follows(word string) bool {
	return s.next < len(s.tokens) && s.tokens[s.next].Type != parse.TString && s.tokens[s.next].Str == word
}

// here returns the position of the last token found.
func (s *scanner) here() position {
	if i := min(s.next, len(s.tokens)) - 1; i >= 0 {
		return position{s.tokens[i].Pos.Line, s.tokens[i].Pos.Column}
	}
	return position{1, 1}
}

// walk visits every statement and expression of a file, with its enclosing function.
func (f *file) walk(visit func(node any, fn *function)) { f.visit(f.chunk, f.src.Chunk, visit) }

// walk visits the statements and expressions of one function, and those of functions in it.
func (fn *function) walk(visit func(node any, fn *function)) {
	if fn.expr == nil {
		fn.file.walk(visit)
		return
	}
	fn.file.visit(fn, fn.expr.Stmts, visit)
}

// visit calls a function for each node below others, by reflection: the tree has 30 types.
func (f *file) visit(fn *function, below any, visit func(node any, fn *function)) {
	f.visitValue(fn, reflect.ValueOf(below), visit)
}

func (f *file) visitValue(fn *function, v reflect.Value, visit func(node any, fn *function)) {
	switch v.Kind() {
	case reflect.Interface:
		f.visitValue(fn, v.Elem(), visit)
	case reflect.Slice:
		for i := range v.Len() {
			f.visitValue(fn, v.Index(i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanInterface() {
				f.visitValue(fn, field, visit)
			}
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		node := v.Interface()
		visit(node, fn)
		if inner, ok := node.(*ast.FunctionExpr); ok && f.byExpr[inner] != nil {
			fn = f.byExpr[inner]
		}
		f.visitValue(fn, v.Elem(), visit)
	}
}
