package vet

import "github.com/yuin/gopher-lua/ast"

// packedText returns a text that packs values, with the keys from which these come.
func packedText(s *state, args []value) value {
	v := value{kinds: isStr, taint: fromStore}
	for _, arg := range args {
		v.reply = union(v.reply, heldBy(s, arg, 3))
	}
	if len(v.reply) > 0 {
		v.taint |= packs
	}
	return v
}

// heldBy returns the keys from which a value comes, and what its tables hold.
func heldBy(s *state, v value, depth int) []string {
	keys := v.reply
	if depth == 0 {
		return keys
	}
	for _, id := range v.objects {
		o := s.get(id)
		if o == nil {
			continue
		}
		for _, f := range o.fields {
			keys = union(keys, heldBy(s, *f.v, depth-1))
		}
		for _, item := range o.items {
			keys = union(keys, heldBy(s, item, depth-1))
		}
		if o.elem != nil {
			keys = union(keys, heldBy(s, *o.elem, depth-1))
		}
	}
	return keys
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
		if overlaps([]string{key}, packed.reply) && !s.ttl.at(key).below {
			r.report(r.outer(e), RuleSharedTTL, "%s is stored for this call's %s with what it held before, even if another call's entry lasts longer: store it for the longer of both", key, ttl.span())
		}
	}
}
