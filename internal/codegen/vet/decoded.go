package vet

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// A json says what a value is of cjson.decode or cmsgpack.unpack.
type json uint8

const (
	decoded      json = 1 + iota // its result
	decodedField                 // a field or element below
)

// decodedValue returns a field or element of decoded data, which may be missing or of any type.
func decodedValue(of value) value {
	v := unknown()
	v.json, v.reply = decodedField, of.reply
	return v
}

// unpacks returns the results of a function that reads packed data, and raises an error where it cannot.
func (r *run) unpacks(s *state, name string, args []value) []value {
	data := 0
	if name == "struct.unpack" {
		data = 1 // behind its format
	}
	if !valueAt(args, data).fixed && (r.caught() || r.waiting(s)) {
		r.thrown(s)
	}
	v := unknown()
	v.reply = valueAt(args, data).reply
	if name == "struct.unpack" {
		return slices.Repeat([]value{v}, 8)
	}
	v.json = decoded
	if name == "cjson.decode" {
		return []value{v}
	}
	return slices.Repeat([]value{v}, 8)
}

// waiting reports whether a key waits for its expiry.
func (r *run) waiting(s *state) bool {
	return slices.ContainsFunc(s.ttl, func(key named[ttl]) bool { return len(key.v.pending) > 0 && !r.lasts(key.name) })
}

// testsType reports whether a function tests the type of a parameter, so that its caller may know more of the argument.
func (fn *function) testsType(i int) (tests bool) {
	if fn == nil || i >= len(fn.params) {
		return false
	}
	fn.walk(func(node any, _ *function) {
		if call, ok := node.(*ast.FuncCallExpr); ok && call.Func != nil && len(call.Args) > 0 && exprText(call.Func) == "type" {
			tests = tests || fn.file.named(call.Args[0]) == fn.params[i]
		}
	})
	return tests
}

// decodedKinds are the types that an operation takes.
var decodedKinds = map[string]kind{
	"calculate with": isNumber, "count with": isNumber, "compare": isNumber | isStr, "join": isNumber | isStr, "make text of": isNumber | isStr,
	"look into": isTable, "loop over": isTable, "take the length of": isTable | isStr, "call a method of": isTable | isStr,
}

// decoded reports an operation on a field of decoded data whose type no test has shown.
func (r *run) decoded(v value, e ast.Expr, doing string) {
	node, at := r.origin(e)
	if v.lenient || v.only(decodedKinds[doing]) || !r.reportOnce(at, RuleMaybeNil) {
		return
	}
	hint := "test its type before"
	if decodedKinds[doing]&isNumber != 0 {
		hint = "write tonumber(...) or a default, or test its type before"
	}
	r.report(at, RuleMaybeNil, "cannot %s %s, which is decoded data and may be missing or of any type: %s", doing, exprText(node), hint)
}
