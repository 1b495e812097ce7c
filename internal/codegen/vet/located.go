package vet

import "github.com/yuin/gopher-lua/ast"

// located returns the value of an element of GEOSEARCH's reply that has more than the member: its distance, its hash and its place, in this
// order, whatever the order of the options is.
func (r *run) located(s *state, e *ast.FuncCallExpr, args []value) value {
	text := value{kinds: isStr, taint: fromStore}
	number := value{kinds: isStr, taint: fromStore | stored}
	items := []value{text}
	if hasWord(args, "WITHDIST") {
		items = append(items, number)
	}
	if hasWord(args, "WITHHASH") {
		items = append(items, value{kinds: isInt, in: nonNegative})
	}
	if hasWord(args, "WITHCOORD") {
		items = append(items, r.newObject(s, inner{e, 2}, &object{items: []value{number, number}, size: sized(2)}))
	}
	return r.newObject(s, inner{e, 1}, &object{items: items, size: sized(len(items))})
}
