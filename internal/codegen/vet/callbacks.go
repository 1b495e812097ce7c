package vet

import "github.com/yuin/gopher-lua/ast"

// withCallbacks runs a function that Redis provides, and before it the author's functions among its arguments: it may call each or not, as
// table.sort and string.gsub do.
func (r *run) withCallbacks(s *state, e *ast.FuncCallExpr, name string, args []value) []outcome {
	has := false
	for i := range args {
		has = has || args[i].kinds == isFunc && !args[i].lenient
	}
	if !has || name == "pcall" || name == "xpcall" {
		return r.builtinCall(s, e, name, args)
	}
	states := []*state{s}
	for _, callback := range args {
		if callback.kinds != isFunc || callback.lenient {
			continue
		}
		next := states
		for _, st := range states {
			for _, o := range r.apply(st.clone(), e, callback, r.givenBack(st, name, args)) {
				next = append(next, o.s)
			}
		}
		states = distinct(next)
	}
	if len(states) == 1 {
		return r.builtinCall(states[0], e, name, args)
	}
	var out []outcome
	for _, st := range states {
		out = append(out, r.builtinCall(st, e, name, args)...)
	}
	return out
}

// givenBack returns what a callback gets.
func (r *run) givenBack(s *state, name string, args []value) []value {
	switch name {
	case "table.sort":
		elem := r.elements(s, valueAt(args, 0))
		return []value{elem, elem}
	case "string.gsub":
		return captures(args, valueAt(args, 0).taint, 1)
	}
	return []value{anything(), anything()}
}

// iterate returns what begins a turn of a for over an iterator of the author: a call of it.
func (r *run) iterate(stmt *ast.GenericForStmt, vals []value) func(*state) []*state {
	call := &ast.FuncCallExpr{Func: stmt.Exprs[0]}
	call.SetLine(stmt.Line())
	vars := r.here().decls[stmt]
	return func(s *state) (out []*state) {
		for _, o := range r.apply(s, call, vals[0], []value{valueAt(vals, 1), anything()}) {
			first := valueAt(o.vals, 0).truthy()
			if first.kinds == 0 {
				continue // the loop ends
			}
			for i, v := range vars {
				val := valueAt(o.vals, i)
				if i == 0 {
					val = first
				}
				r.set(o.s, v, val)
			}
			out = append(out, o.s)
		}
		return out
	}
}
