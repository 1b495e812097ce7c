package vet

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/internal/command"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// kinds are what an expression may be, as far as its text shows.
type kinds uint8

const (
	isPlain   kinds = 1 << iota // a text or a number
	isNone                      // nil or false
	isOther                     // true, a table or a function
	isUnknown                   // what the text does not show
)

// A shape is what the text of an expression shows of its value.
type shape struct {
	kinds  kinds
	number bool   // it is surely one
	lead   string // how its text begins
	whole  bool   // lead is all of it
	unit   string // of time: us, ms or s
	long   bool   // it may have more than 14 digits
	data   bool   // it may have bytes of the caller or of a key
	reply  string // the command whose reply it is
	large  bool   // an array of as many elements as its key has
}

func unknown() shape { return shape{kinds: isUnknown} }

// shape returns what an expression shows.
func (f *file) shape(e ast.Expr) shape { return f.value(given{e, 0}) }

// value returns what value n of an expression shows. One that depends on itself shows nothing there.
func (f *file) value(g given) shape {
	if g.expr == nil {
		return unknown()
	}
	s, again := f.checker.shapes[g]
	if !again {
		f.checker.shapes[g] = s
		s = f.read(g)
		f.checker.shapes[g] = s
	}
	return s
}

func (f *file) read(g given) shape {
	switch e := g.expr.(type) {
	case *ast.NilExpr, *ast.FalseExpr:
		return shape{kinds: isNone}
	case *ast.TrueExpr, *ast.TableExpr, *ast.FunctionExpr:
		return shape{kinds: isOther}
	case *ast.RelationalOpExpr, *ast.UnaryNotOpExpr:
		return shape{kinds: isNone | isOther}
	case *ast.NumberExpr:
		return shape{kinds: isPlain, number: true, lead: e.Value, whole: true}
	case *ast.StringExpr:
		return shape{kinds: isPlain, lead: e.Value, whole: true}
	case *ast.UnaryLenOpExpr:
		return shape{kinds: isPlain, number: true}
	case *ast.UnaryMinusOpExpr:
		s := f.shape(e.Expr)
		return shape{kinds: isPlain, number: true, lead: "-" + s.lead, whole: s.whole, unit: s.unit, long: s.long}
	case *ast.ArithmeticOpExpr:
		return calculated(e.Operator, f.shape(e.Lhs), f.shape(e.Rhs))
	case *ast.StringConcatOpExpr:
		a, b := f.shape(e.Lhs), f.shape(e.Rhs)
		if a.whole {
			a.lead += b.lead
		}
		return shape{kinds: isPlain, lead: a.lead, whole: a.whole && b.whole, data: a.data && !a.number || b.data && !b.number}
	case *ast.LogicalOpExpr:
		return chosen(e.Operator, f.shape(e.Lhs), f.shape(e.Rhs))
	case *ast.IdentExpr:
		if v := f.refs[e]; v != nil {
			return f.variable(v, f.safe[e])
		}
	case *ast.AttrGetExpr:
		return f.field(e)
	case *ast.FuncCallExpr:
		return f.called(e, g.n)
	}
	return unknown()
}

// both is what may be one or the other.
func both(a, b shape) shape {
	if a.kinds&(isPlain|isUnknown) == 0 {
		a, b = b, a
	}
	out := a
	if out.kinds |= b.kinds; b.kinds&(isPlain|isUnknown) == 0 { // it has neither a unit nor digits
		return out
	}
	out.number, out.long, out.large, out.data = a.number && b.number, a.long || b.long, a.large || b.large, a.data || b.data
	if a.lead != b.lead || a.whole != b.whole {
		out.lead, out.whole = "", false
	}
	if a.reply != b.reply {
		out.reply = ""
	}
	if a.whole {
		out.unit = b.unit
	} else if !b.whole && a.unit != b.unit {
		out.unit = ""
	}
	return out
}

func chosen(operator string, a, b shape) shape {
	none := shape{kinds: a.kinds & isNone}
	a.kinds &^= isNone
	switch {
	case operator == "and" && a.kinds == 0:
		return none
	case operator == "and":
		return both(none, b)
	case a.kinds == 0:
		return b
	case none.kinds == 0 && a.kinds&isUnknown == 0:
		return a
	}
	return both(a, b)
}

func (f *file) variable(v *variable, safe bool) (out shape) {
	switch {
	case v.field != nil && len(v.given) == 0:
		out = argument(v.field)
	case v.param || len(v.given) == 0:
		out = unknown()
	}
	for _, g := range v.given {
		if out = both(out, f.value(g)); v.param {
			out.kinds |= isUnknown
		}
	}
	if safe {
		out.kinds = out.kinds&^isNone | isUnknown
	}
	out.unit = cmp.Or(unitOf(v.name), out.unit)
	out.long = out.long || v.name == "now_us"
	return out
}

// argument is what the generated entry passes for a line of the header.
func argument(p *spec.Field) shape {
	float := p.Kind == spec.KindFloat
	out := shape{kinds: isPlain, number: p.Kind.Integer() || float, long: p.Kind == spec.KindTime || float, data: p.Kind == spec.KindText || p.Kind == spec.KindKey}
	if p.Kind == spec.KindBool {
		out.kinds = isNone | isOther
	} else if p.Several {
		out.kinds = isOther
	}
	if _, given := p.DefaultWord(); p.Optional && !given && p.Kind != spec.KindKey {
		out.kinds |= isNone
	}
	return out
}

// field is an element or a field of a table: of most it is not known what they are.
func (f *file) field(e *ast.AttrGetExpr) shape {
	out := unknown()
	id, _ := e.Object.(*ast.IdentExpr)
	if r := f.shape(e.Object).reply; r != "" && !f.safe[id] {
		out.reply = r
		switch commands[r].reply {
		case 'a':
			out.data = true
		case 'g':
			out.kinds, out.data = isPlain|isNone, true
		case 't':
			out.kinds = isPlain
		}
	}
	if key, ok := e.Key.(*ast.StringExpr); ok {
		out.unit = unitOf(key.Value)
	}
	return out
}

var textsOf = set("tostring concat encode pack sha1hex type")

// called is value n of what a call gives.
func (f *file) called(e *ast.FuncCallExpr, n int) shape {
	if args, ok := command.Arguments(e); ok && n == 0 && len(args) > 0 && exprText(e.Func) != "pcall" {
		return reply(f.values(args))
	}
	if fn := f.callee(e); fn != nil {
		return fn.result(n)
	}
	name := e.Method
	if e.Func != nil {
		name = exprText(e.Func)
		name = name[strings.LastIndexByte(name, '.')+1:]
	}
	first := unknown()
	if len(e.Args) > 0 {
		first = f.shape(e.Args[0])
	}
	switch {
	case n > 0, e.Func != nil && f.declares(e.Func):
	case name == "floor" || name == "ceil":
		return shape{kinds: isPlain, number: true, unit: first.unit, long: first.long && first.unit == "us"}
	case name == "max" || name == "min":
		for _, s := range f.values(e.Args) {
			first = both(first, s)
		}
		return shape{kinds: isPlain, number: true, unit: first.unit, long: first.long}
	case name == "tonumber":
		first.kinds, first.number = isUnknown, true
		return first
	case name == "format":
		lead, _, formats := strings.Cut(first.lead, "%")
		data := slices.ContainsFunc(f.values(e.Args), func(s shape) bool { return s.data && !s.number })
		return shape{kinds: isPlain, lead: lead, whole: first.whole && !formats, data: data}
	case name == "match" || name == "find":
		return shape{kinds: isPlain | isNone}
	case libraryMembers["math"][name], libraryMembers["bit"][name]:
		return shape{kinds: isPlain, number: true}
	case libraryMembers["string"][name], textsOf[name]:
		return shape{kinds: isPlain}
	}
	return unknown()
}

// callee returns the function of the author's that a call names.
func (f *file) callee(e *ast.FuncCallExpr) *function {
	switch name := e.Func.(type) {
	case *ast.IdentExpr:
		if v := f.refs[name]; v != nil && len(v.given) == 1 {
			fn, _ := v.given[0].expr.(*ast.FunctionExpr)
			return f.bodies[fn]
		}
	case *ast.AttrGetExpr:
		id, ok := name.Object.(*ast.IdentExpr)
		switch lib := f.checker.libs[exprText(name.Object)]; {
		case !ok:
		case f.refs[id] != nil && f.refs[id].owner.parent == nil:
			return f.members[exprText(name)]
		case lib != nil && slices.Contains(f.uses, id.Value):
			return lib.members[exprText(name)]
		}
	}
	return nil
}

// result is value n of what a function returns.
func (fn *function) result(n int) (out shape) {
	if len(fn.returns) == 0 {
		return unknown()
	}
	for _, r := range fn.returns {
		out = both(out, fn.file.value(valueAt(r.Exprs, n)))
	}
	out.unit = cmp.Or(unitOf(fn.name), out.unit)
	out.long = out.long || strings.HasSuffix(fn.name, ".now_us")
	return out
}

func (f *file) values(list []ast.Expr) []shape {
	out := make([]shape, len(list))
	for i, e := range list {
		out[i] = f.shape(e)
	}
	return out
}

// base is the name with which an expression begins, or nil.
func base(e ast.Expr) *ast.IdentExpr {
	if attr, ok := e.(*ast.AttrGetExpr); ok {
		return base(attr.Object)
	}
	id, _ := e.(*ast.IdentExpr)
	return id
}

// declares reports whether an expression begins with a name that the file declares, or with none.
func (f *file) declares(e ast.Expr) bool {
	id := base(e)
	return id == nil || f.refs[id] != nil || slices.Contains(f.uses, id.Value)
}

// unitOf returns the unit that a name says.
func unitOf(name string) string {
	return map[string]string{"_us": "us", "_ms": "ms", "_s": "s", "_sec": "s", "_secs": "s", "_seconds": "s"}[name[max(strings.LastIndexByte(name, '_'), 0):]]
}

func calculated(operator string, a, b shape) shape {
	out := shape{kinds: isPlain, number: true}
	switch operator {
	case "+":
		out.unit, out.long = cmp.Or(a.unit, b.unit), a.long || b.long
	case "-":
		out.unit, out.long = cmp.Or(a.unit, b.unit), a.long != b.long // a span between two times
	case "*":
		out.unit = cmp.Or(scaled(a, b, false), scaled(b, a, false))
		out.long = a.long || b.long || a.reply == "TIME" || b.reply == "TIME"
	case "/":
		out.unit, out.long = scaled(a, b, true), a.long
	case "%":
		out.unit = a.unit
	}
	return out
}

// scaled returns the unit of a value times a number, or divided by it.
func scaled(v, by shape, divided bool) string {
	n, _ := strconv.ParseFloat(by.lead, 64)
	if divided && n != 0 {
		n = 1 / n
	}
	order := []string{"s", "ms", "us"}
	at := slices.Index(order, v.unit)
	step := map[float64]int{1000: 1, 1e6: 2, 1.0 / 1000: -1, 1.0 / 1e6: -2}[n]
	switch {
	case at < 0 || n == 0 || !by.whole || step == 0 && (n > 60 || n < 1.0/60):
		return ""
	case at+step >= 0 && at+step < len(order):
		return order[at+step]
	}
	return ""
}
