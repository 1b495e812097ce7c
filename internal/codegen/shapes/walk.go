package vet

import (
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

// elseif reports whether the next block keyword is elseif: only the ends of blocks and brackets stand before it.
func (s *scanner) elseif() bool {
	for i := s.next; i < len(s.tokens); i++ {
		switch s.tokens[i].Type {
		case parse.TElseIf:
			return true
		case parse.TElse:
			return false
		}
	}
	return false
}

// here returns the position of the last token found.
func (s *scanner) here() position {
	if i := min(s.next, len(s.tokens)) - 1; i >= 0 {
		return position{s.tokens[i].Pos.Line, s.tokens[i].Pos.Column}
	}
	return position{1, 1}
}

// walk visits every statement and expression of a file, in text order, with its enclosing function.
func (f *file) walk(visit func(node any, fn *function)) {
	w := &walker{file: f, fn: f.chunk, visit: visit}
	w.stmts(f.src.Chunk)
}

// walk visits the statements and expressions of one function.
func (fn *function) walk(visit func(node any, fn *function)) {
	w := &walker{file: fn.file, fn: fn, visit: visit}
	if fn.expr == nil {
		w.stmts(fn.file.src.Chunk)
		return
	}
	w.stmts(fn.expr.Stmts)
}

type walker struct {
	file  *file
	fn    *function
	visit func(node any, fn *function)
}

func (w *walker) stmts(list []ast.Stmt) {
	for _, s := range list {
		w.visit(s, w.fn)
		switch s := s.(type) {
		case *ast.LocalAssignStmt:
			w.exprs(s.Exprs...)
		case *ast.AssignStmt:
			w.exprs(s.Lhs...)
			w.exprs(s.Rhs...)
		case *ast.FuncCallStmt:
			w.exprs(s.Expr)
		case *ast.DoBlockStmt:
			w.stmts(s.Stmts)
		case *ast.WhileStmt:
			w.exprs(s.Condition)
			w.stmts(s.Stmts)
		case *ast.RepeatStmt:
			w.stmts(s.Stmts)
			w.exprs(s.Condition)
		case *ast.IfStmt:
			w.exprs(s.Condition)
			w.stmts(s.Then)
			w.stmts(s.Else)
		case *ast.NumberForStmt:
			w.exprs(s.Init, s.Limit, s.Step)
			w.stmts(s.Stmts)
		case *ast.GenericForStmt:
			w.exprs(s.Exprs...)
			w.stmts(s.Stmts)
		case *ast.FuncDefStmt:
			w.exprs(s.Name.Func, s.Name.Receiver, s.Func)
		case *ast.ReturnStmt:
			w.exprs(s.Exprs...)
		}
	}
}

func (w *walker) exprs(list ...ast.Expr) {
	for _, e := range list {
		if e == nil {
			continue
		}
		w.visit(e, w.fn)
		switch e := e.(type) {
		case *ast.AttrGetExpr:
			w.exprs(e.Object, e.Key)
		case *ast.TableExpr:
			for _, f := range e.Fields {
				w.exprs(f.Key, f.Value)
			}
		case *ast.FuncCallExpr:
			w.exprs(e.Func, e.Receiver)
			w.exprs(e.Args...)
		case *ast.LogicalOpExpr:
			w.exprs(e.Lhs, e.Rhs)
		case *ast.RelationalOpExpr:
			w.exprs(e.Lhs, e.Rhs)
		case *ast.StringConcatOpExpr:
			w.exprs(e.Lhs, e.Rhs)
		case *ast.ArithmeticOpExpr:
			w.exprs(e.Lhs, e.Rhs)
		case *ast.UnaryMinusOpExpr:
			w.exprs(e.Expr)
		case *ast.UnaryNotOpExpr:
			w.exprs(e.Expr)
		case *ast.UnaryLenOpExpr:
			w.exprs(e.Expr)
		case *ast.FunctionExpr:
			outer := w.fn
			w.fn = w.file.byExpr[e]
			w.stmts(e.Stmts)
			w.fn = outer
		}
	}
}
