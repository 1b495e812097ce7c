package vet

import (
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// facts are what a function does somewhere with locals and fields, by pathOf. They say that the author has thought of a case, not where.
type facts struct {
	compared map[string]bool // or clamped by math.min and math.max
	counted  map[string]bool // by #, ipairs, next or an index
	matched  map[string]bool // with a pattern
	sized    map[string]bool // keys whose size it compares, or that it trims
	looks    bool            // it asks for the size or the existence of some key
}

var sizeCommands = set("LLEN HLEN SCARD ZCARD XLEN STRLEN")

// factsOf returns the facts of the outermost function around a place.
func (w *pass) factsOf(fn *function) *facts {
	for fn.parent != nil && fn.parent.parent != nil {
		fn = fn.parent
	}
	if fn.facts != nil {
		return fn.facts
	}
	f := fn.file
	fn.facts = &facts{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, false}
	note := func(to map[string]bool, list ...ast.Expr) {
		for _, e := range list {
			to[f.pathOf(e)] = true
		}
	}
	sizeOf := map[string]string{} // the key whose size a local is
	tests := func(list ...ast.Expr) {
		f.visit(fn, list, func(node any, _ *function) {
			switch node := node.(type) {
			case *ast.IdentExpr, *ast.AttrGetExpr:
				path := f.pathOf(node.(ast.Expr))
				fn.facts.compared[path] = true
				if key := sizeOf[path]; key != "" {
					fn.facts.sized[key] = true
				}
			case *ast.FuncCallExpr:
				if command, key := f.commandOf(node); sizeCommands[command] {
					fn.facts.sized[key] = true
				}
			}
		})
	}
	fn.walk(func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.LocalAssignStmt:
			for i, e := range node.Exprs {
				call, ok := e.(*ast.FuncCallExpr)
				if command, key := f.commandOf(call); ok && sizeCommands[command] && i < len(node.Names) {
					sizeOf[f.pathOfVariable(f.decls[node][i])] = key
				}
			}
		case *ast.RelationalOpExpr:
			tests(node.Lhs, node.Rhs)
		case *ast.UnaryLenOpExpr:
			note(fn.facts.counted, node.Expr)
		case *ast.AttrGetExpr:
			note(fn.facts.counted, node.Object)
		case *ast.FuncCallExpr:
			switch command, key := f.commandOf(node); {
			case command == "LTRIM", command == "ZREMRANGEBYRANK", command == "XTRIM":
				fn.facts.sized[key] = true
			case sizeCommands[command], command == "EXISTS":
				fn.facts.looks = true
			}
			name, args := exprText(node.Func), node.Args
			if node.Func == nil {
				name, args = "string."+node.Method, append([]ast.Expr{node.Receiver}, node.Args...)
			}
			switch name {
			case "math.min", "math.max":
				tests(args...)
			case "ipairs", "next":
				note(fn.facts.counted, args...)
			case "string.match", "string.find":
				note(fn.facts.matched, args...)
			}
		}
	})
	return fn.facts
}

// commandOf returns the command of a call of redis.call, and the path of its first argument.
func (f *file) commandOf(e *ast.FuncCallExpr) (command, key string) {
	if e == nil || e.Func == nil || len(e.Args) < 2 || exprText(e.Func) != "redis.call" && exprText(e.Func) != "redis.pcall" {
		return "", ""
	}
	if name, ok := e.Args[0].(*ast.StringExpr); ok {
		return strings.ToUpper(name.Value), f.pathOf(e.Args[1])
	}
	return "", ""
}

// compared reports whether the function compares or clamps something.
func (w *pass) compared(e ast.Expr) bool {
	path := w.file.pathOf(e)
	return path != "" && w.factsOf(w.fn).compared[path]
}

// testsArgument reports whether the public function compares or clamps an argument.
func (w *pass) testsArgument(f *spec.Field) bool {
	for _, file := range w.sorted {
		for _, fn := range file.funcs {
			if fn.contract == nil {
				continue
			}
			i := slices.IndexFunc(fn.params, func(p *variable) bool { return p.name == f.Lua })
			for p := range fn.contract.Params {
				if &fn.contract.Params[p] == f && i >= 0 {
					return w.factsOf(fn).compared[file.pathOfVariable(fn.params[i])]
				}
			}
		}
	}
	return true // a field of a row
}
