package vet

import "github.com/yuin/gopher-lua/ast"

// packedText returns a text that packs values, with the keys from which these come.
func packedText(s *state, args []value) value {
	v := value{kinds: isStr, taint: fromStore}
	for _, arg := range args {
		s.eachHeld(arg, func(held value) bool {
			v.reply = union(v.reply, held.reply)
			return true
		})
	}
	if len(v.reply) > 0 {
		v.taint |= packs
	}
	return v
}

// repacked reports a text with what other calls have packed into it, if it is stored for this call's span.
func (r *run) repacked(s *state, e *ast.FuncCallExpr, args []value, ttl value) {
	packed := args[1]
	if e := len(args) - 1; args[e].taint&packs != 0 {
		packed = args[e] // of SETEX
	}
	if packed.taint&packs == 0 || ttl.span() == "" || len(ttl.reply) > 0 || ttl.lenient && !r.callsClock() {
		return
	}
	for _, key := range args[0].keys() {
		only := len(packed.reply) == 0 && len(r.read) == 1 && r.read[key]
		if (only || overlaps([]string{key}, packed.reply)) && !s.ttl.at(key).below {
			r.report(r.outer(e), RuleSharedTTL, "%s is stored for this call's %s with what it held before, even if another call's entry lasts longer: store it for the longer of both", key, ttl.span())
		}
	}
}
