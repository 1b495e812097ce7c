package vet

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

const (
	mostUnpacked = 1_000 // elements of a reply
	mostSliced   = 16    // elements between literal bounds that are known one by one
)

// unpack returns the elements of a table: all, if they are known.
func (r *run) unpack(s *state, e *ast.FuncCallExpr, args []value) []outcome {
	v := valueAt(args, 0)
	if v.reads && (len(args) < 3 || r.unpacksAll(e)) && !shortReply(s, v) {
		r.report(r.at(e), RuleUnpack, "unpack fails above 7,999 elements on Redis, and nothing bounds this reply to 1,000: read less at once, or loop")
	} else {
		r.overflows(s, e, v)
	}
	elem := r.elements(s, v)
	if first, last, ok := slice(e); ok {
		vals := make([]value, 0, mostSliced)
		for place := first; place <= last; place++ {
			vals = append(vals, r.unpackedElement(s, e.Args[0], v, place))
		}
		return gives(s, vals...)
	}
	if o, ok := oneOf(s, v); ok && r.unpacksAll(e) {
		switch {
		case len(o.items) > 0:
			return gives(s, o.items...)
		case o.sequence != nil:
			return gives(s, o.sequence.values()...)
		case o.size.known && o.size.step == 0 && o.size.least <= mostItems:
			vals := make([]value, o.size.least)
			for i := range vals {
				vals[i] = elem
			}
			return gives(s, vals...)
		}
	}
	return gives(s, elem, elem, elem, elem)
}

// shortReply reports whether a reply has few elements for certain.
func shortReply(s *state, v value) bool {
	for _, id := range v.objects {
		o := s.get(id)
		if o == nil || o.size != sized(int(o.size.least)) && (o.size.most == 0 || o.size.most > mostUnpacked) {
			return false
		}
	}
	return len(v.objects) > 0
}

// slice returns the bounds of `unpack(t, first, last)`, if they are literals and near each other.
func slice(e *ast.FuncCallExpr) (first, last int, ok bool) {
	if e.Func == nil || len(e.Args) != 3 || exprText(e.Func) != "unpack" {
		return 0, 0, false
	}
	from, fromOK := e.Args[1].(*ast.NumberExpr)
	to, toOK := e.Args[2].(*ast.NumberExpr)
	if !fromOK || !toOK {
		return 0, 0, false
	}
	first, err := strconv.Atoi(from.Value)
	last, err2 := strconv.Atoi(to.Value)
	return first, last, err == nil && err2 == nil && first >= 1 && last < first+mostSliced
}

// unpackedElement returns one of the elements of a table: nil, too, if the table may be shorter.
func (r *run) unpackedElement(s *state, e ast.Expr, table value, place int) value {
	if table.lenient || len(table.objects) == 0 {
		return r.elements(s, table)
	}
	out := value{}
	for _, id := range table.objects {
		o := s.get(id)
		switch {
		case o == nil:
			return anything()
		case place <= len(o.items):
			out = join(out, o.items[place-1])
			continue
		case len(o.items) > 0 && o.elem == nil && !o.open:
			out = join(out, of(isNil))
			continue
		}
		out = join(out, elementOf(o))
		if path := r.pathOf(e); place > int(o.size.least) && (path == "" || !s.facts.has("#"+path)) {
			out = join(out, of(isNil))
		}
	}
	return out
}

// unpackedTable returns the table of `unpack(t)`, if it is known.
func (r *run) unpackedTable(s *state, e *ast.FuncCallExpr) (*object, bool) {
	if !r.unpacksAll(e) {
		return nil, false
	}
	if made, ok := e.Args[0].(*ast.TableExpr); ok {
		o := s.get(r.objectAt(made)) // it has just been made
		return o, o != nil
	}
	v, known := r.peek(s, e.Args[0])
	if !known {
		return nil, false
	}
	return oneOf(s, v)
}

// oneOf returns a table that is any of those that a value may be, if all of them are known.
func oneOf(s *state, v value) (one *object, ok bool) {
	if v.lenient || !v.only(isTable) {
		return nil, false
	}
	for _, id := range v.objects {
		o := s.get(id)
		switch {
		case o == nil || o.open || o.holed:
			return nil, false
		case one == nil:
			one = o
			continue
		}
		both := *mergeObjects(one, o)
		if len(one.items) != len(o.items) {
			elem := join(elementOf(one), elementOf(o))
			both.elem, both.items = &elem, nil
		}
		one = &both
	}
	return one, one != nil
}

// unpacksAll reports whether a call is `unpack(t)` or `unpack(t, 1, #t)`.
func (r *run) unpacksAll(e *ast.FuncCallExpr) bool {
	if e.Func == nil || exprText(e.Func) != "unpack" || len(e.Args) != 1 && len(e.Args) != 3 {
		return false
	}
	if len(e.Args) == 1 {
		return true
	}
	first, ok := e.Args[1].(*ast.NumberExpr)
	last, length := e.Args[2].(*ast.UnaryLenOpExpr)
	path := r.pathOf(e.Args[0])
	return ok && first.Value == "1" && length && path != "" && path == r.pathOf(last.Expr)
}

// selected returns the values of `select(n, ...)`, of which the first may be any from the least n on.
func selected(args []value) []value {
	place := valueAt(args, 0)
	n, fixed := place.number()
	switch {
	case fixed && n >= 1 && int(n) <= len(args):
		return args[int(n):]
	case fixed || len(args) < 2 || place.lenient:
		return []value{anything()}
	}
	out, from := value{}, 1
	if in := place.interval(); in.known && in.low > 1 {
		from = int(min(in.low, float64(len(args)-1)))
	}
	for _, v := range args[from:] {
		out = join(out, v)
	}
	if out.kinds == 0 {
		return []value{anything()}
	}
	return []value{out}
}
