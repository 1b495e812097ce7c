package vet

import "github.com/yuin/gopher-lua/ast"

// untabled are the operations that raise an error for a table.
var untabled = map[string]bool{"calculate with": true, "compare": true, "join": true, "count with": true, "make text of": true}

// noTable reports an operation on a table, as on the reply of redis.pcall where the command has failed.
func (r *run) noTable(s *state, v value, e ast.Expr, doing string) {
	if v.vague() || !v.may(isTable) || !untabled[doing] || len(v.objects) == 0 {
		return
	}
	what, hint := "a table", "use one of its fields or elements"
	for _, id := range v.objects {
		if o := s.get(id); o != nil && o.failure {
			what, hint = "the table of an error", "redis.pcall returns one if the command fails, so test type(x) == 'table' first, or write redis.call"
		}
	}
	r.learn(s, e, func(v value) value {
		if v.kinds &^= isTable; v.kinds == 0 {
			return anything() // this path has ended; one finding is enough
		}
		v.objects = nil
		return v
	})
	node, at := r.origin(e)
	if !r.reportOnce(at, RuleMaybeNil) {
		return
	}
	if node == e {
		r.report(at, RuleMaybeNil, "cannot %s %s where it is %s: %s", doing, exprText(e), what, hint)
	} else {
		r.report(at, RuleMaybeNil, "%s may be %s, and %s cannot %s it: %s", exprText(node), what, r.top().fn.name, doing, hint)
	}
}
