package vet

import "github.com/yuin/gopher-lua/ast"

// A json says what a value is of cjson.decode.
type json uint8

const (
	decoded      json = 1 + iota // its result
	decodedField                 // a field or element below
)

// decodedValue returns a field or element of decoded JSON, which may be missing or of any type.
func decodedValue() value {
	v := unknown()
	v.json = decodedField
	return v
}

// decodedKinds are the types that an operation takes.
var decodedKinds = map[string]kind{
	"calculate with": isNumber, "count with": isNumber, "compare": isNumber | isStr, "join": isNumber | isStr, "make text of": isNumber | isStr,
	"look into": isTable, "loop over": isTable, "take the length of": isTable | isStr, "call a method of": isTable | isStr,
}

// decoded reports an operation on a field of decoded JSON whose type no test has shown.
func (r *run) decoded(v value, e ast.Expr, doing string) {
	node, at := r.origin(e)
	if v.lenient || v.only(decodedKinds[doing]) || !r.reportOnce(at, RuleMaybeNil) {
		return
	}
	hint := "test its type before"
	if decodedKinds[doing]&isNumber != 0 {
		hint = "write tonumber(...) or a default, or test its type before"
	}
	r.report(at, RuleMaybeNil, "cannot %s %s, which is decoded JSON and may be missing or of any type: %s", doing, exprText(node), hint)
}
