package luasrc

import (
	"reflect"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/internal/diag"
)

// unloadable finds code that gopher-lua's parser accepts and Lua 5.1's compiler refuses, so no server loads the library.
func (f *File) unloadable() (found diag.List) {
	w := &loadWalk{file: f, found: &found, varargs: true, seen: map[wordOnLine]int{}}
	w.visit(reflect.ValueOf(f.Chunk))
	return append(found, f.unloadableTokens()...)
}

// A loadWalk visits every node and knows what stands around it.
type loadWalk struct {
	file    *File
	found   *diag.List
	varargs bool // the function takes ...
	loops   int  // of the function, around the node
	seen    map[wordOnLine]int
}

type wordOnLine struct {
	line int
	word string
}

func (w *loadWalk) visit(v reflect.Value) { Each(v, w.node) }

// Each calls node with the nodes that v has, each a pointer, but not with those below them. It uses reflection: the tree has 30 types.
func Each(v reflect.Value, node func(reflect.Value)) {
	switch v.Kind() {
	case reflect.Interface:
		Each(v.Elem(), node)
	case reflect.Slice:
		for i := range v.Len() {
			Each(v.Index(i), node)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanInterface() {
				Each(v.Field(i), node)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			node(v)
		}
	}
}

func (w *loadWalk) node(v reflect.Value) {
	outer := *w
	switch node := v.Interface().(type) {
	case *ast.FunctionExpr:
		w.varargs, w.loops = node.ParList != nil && node.ParList.HasVargs, 0
		if w.varargs {
			w.place(node.Line(), "...")
		}
	case *ast.WhileStmt, *ast.RepeatStmt, *ast.NumberForStmt, *ast.GenericForStmt:
		w.loops++
	case *ast.BreakStmt:
		at := w.place(node.Line(), "break")
		if w.loops == 0 {
			w.found.Add(w.file.Path, node.Line(), at, RuleSyntax, "break outside a loop")
		}
	case *ast.Comma3Expr:
		at := w.place(node.Line(), "...")
		if !w.varargs {
			w.found.Add(w.file.Path, node.Line(), at, RuleSyntax, "... in a function that does not take it: write ... as its last parameter, or hand over a table")
		}
	}
	w.visit(v.Elem())
	w.varargs, w.loops = outer.varargs, outer.loops
}

// place is the column of the next such word on a line: nodes know no columns, and come in the order of the text.
func (w *loadWalk) place(line int, word string) int {
	at := wordOnLine{line, word}
	w.seen[at]++
	return w.file.Column(line, word, w.seen[at]-1)
}
