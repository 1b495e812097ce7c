package vet

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// effects are what statements and expressions read and change, in the local functions that they call, too.
type effects struct {
	file     *file
	reads    map[*variable]bool
	assigned map[*variable]bool
	looks    bool // it reads tables
	stores   bool // it changes tables
	redis    bool // it calls Redis
	unknown  bool // it calls what vet cannot name
	seen     map[*function]bool
}

func effectsOf(f *file, stmts []ast.Stmt, exprs ...ast.Expr) *effects {
	e := &effects{file: f, reads: map[*variable]bool{}, assigned: map[*variable]bool{}, seen: map[*function]bool{}}
	w := &walker{file: f, visit: e.visit}
	w.stmts(stmts)
	w.exprs(exprs...)
	return e
}

func (e *effects) visit(node any, _ *function) {
	for _, v := range e.file.decls[node] {
		e.assigned[v] = true
	}
	switch node := node.(type) {
	case *ast.IdentExpr:
		if v := e.file.refs[node]; v != nil {
			e.reads[v] = true
		}
	case *ast.AttrGetExpr:
		id, named := node.Object.(*ast.IdentExpr)
		e.looks = e.looks || !named || e.file.refs[id] != nil || libraryMembers[id.Value] == nil
	case *ast.UnaryLenOpExpr:
		e.looks = true
	case *ast.AssignStmt:
		for _, lhs := range node.Lhs {
			if v := e.file.named(lhs); v != nil {
				e.assigned[v] = true
			} else {
				e.stores = true
			}
		}
	case *ast.FuncCallExpr:
		e.call(node)
	}
}

// call adds what a call does.
func (e *effects) call(call *ast.FuncCallExpr) {
	if call.Func == nil {
		e.unknown = e.unknown || !libraryMembers["string"][call.Method]
		return
	}
	name := exprText(call.Func)
	table, member, _ := strings.Cut(name, ".")
	switch v := e.file.named(call.Func); {
	case v != nil && e.file.bodies[v] != nil && v.assigned == 0:
		e.function(e.file.bodies[v])
	case v != nil || e.file.local(call.Func):
		e.unknown = true
	case name == "pcall" || name == "xpcall" || name == "error" || name == "assert":
		e.unknown = true
	case table == "redis":
		e.redis = true
	case table == "table":
		e.stores = true
	case baseFunctions[name] || libraryMembers[table][member]:
	default:
		e.unknown = true // of a lib file
	}
}

func (e *effects) function(fn *function) {
	if !e.seen[fn] {
		e.seen[fn] = true
		fn.walk(e.visit)
	}
}

// change reports whether these effects may change what the others read.
func (e *effects) change(other *effects) bool {
	if e.unknown || other.unknown || other.redis || e.stores && other.looks {
		return true
	}
	for v := range other.reads {
		if e.assigned[v] || other.assigned[v] {
			return true
		}
	}
	return false
}
