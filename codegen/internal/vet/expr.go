package vet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// one returns the first value of an expression.
func (w *pass) one(e ast.Expr) value {
	switch e := e.(type) {
	case *ast.FuncCallExpr, *ast.Comma3Expr:
		var out value
		for _, t := range w.multi(e) {
			out = join(out, t.at(0))
		}
		return out
	case *ast.NilExpr:
		return of(isNil)
	case *ast.TrueExpr:
		return of(isTrue)
	case *ast.FalseExpr:
		return of(isFalse)
	case *ast.NumberExpr:
		return value{kinds: isNumber, texts: []string{e.Value}}
	case *ast.StringExpr:
		return text(e.Value)
	case *ast.IdentExpr:
		return w.ident(e)
	case *ast.AttrGetExpr:
		w.indexable(e, w.one(e.Object))
		return w.at(e)
	case *ast.TableExpr:
		return w.table(e)
	case *ast.FunctionExpr:
		fn := w.file.byExpr[e]
		w.closure(fn)
		return value{kinds: isFunc, fns: []*function{fn}}
	case *ast.LogicalOpExpr:
		return w.logical(e)
	case *ast.RelationalOpExpr:
		return w.relational(e)
	case *ast.StringConcatOpExpr:
		return w.concat(e)
	case *ast.ArithmeticOpExpr:
		return w.arithmetic(e)
	case *ast.UnaryMinusOpExpr:
		v := w.one(e.Expr)
		w.number(e.Expr, v, "calculate with")
		if text, ok := v.literal(); ok && v.only(isNumber) && !strings.HasPrefix(text, "-") {
			return value{kinds: isNumber, texts: []string{"-" + text}, unit: v.unit}
		}
		return value{kinds: isNumber, open: true, unit: v.unit, traits: v.traits & long}
	case *ast.UnaryNotOpExpr:
		w.condition(e.Expr)
		return of(isBool)
	case *ast.UnaryLenOpExpr:
		v := w.one(e.Expr)
		w.usable(e.Expr, v, isString|isTable, "count")
		return of(isNumber)
	}
	return anything()
}

func (w *pass) ident(e *ast.IdentExpr) value {
	if v := w.file.refs[e]; v != nil {
		return w.variable(v)
	}
	if w.fn.parent == nil && (baseFunctions[e.Value] || libraryMembers[e.Value] != nil && e.Value != "redis") {
		w.report(e, RuleLoadLibrary, "%s does not exist while Redis loads the library: use it inside the function", e.Value)
	}
	switch {
	case slices.Contains(w.file.uses, e.Value) && w.libs[e.Value] != nil && w.libs[e.Value].chunk != nil:
		var out value
		for _, t := range w.libs[e.Value].chunk.flow.returns {
			out = join(out, t.at(0))
		}
		return out
	case baseFunctions[e.Value]:
		return value{kinds: isFunc, names: []string{e.Value}}
	}
	return anything()
}

func (w *pass) variable(v *variable) value {
	if val := w.env.vars[v]; val != nil && !v.shared && (v.owner == w.fn || v.assigned == 0) {
		return *val
	}
	val := v.all.value
	w.named(v, &val)
	return val
}

// provided reports whether an expression begins with a name of Lua or Redis.
func (f *file) provided(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.IdentExpr:
		return f.refs[e] == nil && (baseFunctions[e.Value] || libraryMembers[e.Value] != nil) && !slices.Contains(f.uses, e.Value)
	case *ast.AttrGetExpr:
		return f.provided(e.Object)
	}
	return false
}

// at returns what a field or an element may be.
func (w *pass) at(e *ast.AttrGetExpr) (out value) {
	if path := w.file.pathOf(e); path != "" {
		if val, ok := w.env.paths[path]; ok {
			return val
		}
	}
	if w.file.provided(e.Object) {
		name := exprText(e)
		switch name {
		case "redis.REDIS_VERSION":
			return of(isString)
		case "math.pi", "math.huge", "redis.REDIS_VERSION_NUM", "redis.LOG_DEBUG", "redis.LOG_VERBOSE", "redis.LOG_NOTICE", "redis.LOG_WARNING":
			return of(isNumber)
		}
		return value{kinds: isFunc, names: []string{name}}
	}
	object, key := w.one(e.Object), w.one(e.Key)
	if object.may(isOther) || object.may(isTable) && len(object.objs) == 0 {
		return w.suffixed(e, anything())
	}
	if v := w.file.base(e.Object); v != nil && v.param && v.owner.contract == nil {
		defer func() { out = out.doubted() }() // the caller may have chosen a function by it
	}
	_, fixed := e.Key.(*ast.StringExpr)
	if _, number := e.Key.(*ast.NumberExpr); number {
		fixed = true
	}
	for _, o := range object.objs {
		v := o.index(key, fixed)
		if name, _ := key.literal(); fixed && w.final && o.lacks(name) {
			v = of(isNil)
		}
		out = join(out, v)
	}
	if w.final && out.kinds == 0 && len(object.objs) > 0 {
		out = of(isNil) // nothing is ever put there
	}
	return w.suffixed(e, out)
}

// suffixed gives a value the unit of its field's name.
func (w *pass) suffixed(e *ast.AttrGetExpr, v value) value {
	if key, ok := e.Key.(*ast.StringExpr); ok {
		if u := unitOf(key.Value); u != "" {
			v.unit = u
		}
	}
	return v
}

func (w *pass) table(e *ast.TableExpr) value {
	o := w.object(e)
	n := 0
	for i, f := range e.Fields {
		key, named := f.Key.(*ast.StringExpr)
		switch {
		case f.Key == nil:
			if i == len(e.Fields)-1 && open(f.Value) {
				for _, t := range w.multi(f.Value) {
					w.grow(&o.elem, joinAll(t.vals))
					if t.rest != nil {
						w.grow(&o.elem, *t.rest)
					}
				}
				continue
			}
			n++
			v := w.one(f.Value)
			w.grow(&o.elem, v.without(isNil))
			w.grow(o.fieldAt(fmt.Sprint(n)), v)
			o.set[fmt.Sprint(n)] = true
		case named:
			v := w.one(f.Value)
			w.units(f.Value, key.Value, v)
			w.grow(o.fieldAt(key.Value), v)
			o.set[key.Value] = true
		default:
			w.one(f.Key)
			w.grow(&o.elem, w.one(f.Value))
			o.named = true
		}
	}
	o.least, o.top = n, w.fn.parent == nil
	w.errorTable(e)
	return table(o)
}

func (w *pass) logical(e *ast.LogicalOpExpr) value {
	var lhs value
	if e.Operator == "and" {
		lhs = w.condition(e.Lhs)
	} else {
		lhs = w.one(e.Lhs)
	}
	before := w.env.clone()
	w.refine(e.Lhs, e.Operator == "and")
	dead := w.env.dead
	var rhs value
	if !dead {
		rhs = w.one(e.Rhs)
	}
	w.env = before
	if e.Operator == "and" {
		if lhs.may(isOther) {
			lhs.kinds |= isDoubt
		}
		return join(rhs, lhs.without(^falsy))
	}
	if lhs.arg != nil && rhs.arg != nil {
		rhs = rhs.doubted() // a rule of the header may say that one of them is given
	}
	return join(truthy(lhs), rhs)
}

// condition evaluates an expression that is tested for truth.
func (w *pass) condition(e ast.Expr) value {
	v := w.one(e)
	w.truth(e, v)
	return v
}

func (w *pass) truth(e ast.Expr, v value) {
	switch e := e.(type) {
	case *ast.LogicalOpExpr:
		if e.Operator == "or" {
			w.truth(e.Lhs, w.one(e.Lhs))
		}
		return
	case *ast.NumberExpr:
		w.report(e, RuleTruthyNumber, "%s is true, as every number in Lua: write true", e.Value)
		return
	}
	if x := w.file.named(e); x != nil && x.all.may(falsy|isOther) {
		return // it is tested for what it may have been before
	}
	if v.only(isNumber) && v.traits&loose == 0 {
		reply := ""
		if v.reply != "" {
			reply = ", the reply of " + v.reply + ","
		}
		w.report(e, RuleTruthyNumber, "%s%s is a number, and 0 is true in Lua: compare it, as in %s == 1", exprText(e), reply, exprText(e))
	}
}

func (w *pass) relational(e *ast.RelationalOpExpr) value {
	a, b := w.one(e.Lhs), w.one(e.Rhs)
	if e.Operator == "==" || e.Operator == "~=" {
		w.equality(e, a, b)
		return of(isBool)
	}
	w.usable(e.Lhs, a, isPlain, "compare")
	w.usable(e.Rhs, b, isPlain, "compare")
	x, y := a.kinds&^falsy, b.kinds&^falsy
	switch {
	case !a.known() || !b.known() || x == 0 || y == 0:
	case x&y&isPlain == 0 && x&isTable == 0 && y&isTable == 0, a.traits&fromKey != 0 && x&isString != 0 && y == isNumber, b.traits&fromKey != 0 && y&isString != 0 && x == isNumber:
		w.report(e, RuleMixedComparison, "%s compares %s with %s, which is an error: make both numbers with tonumber", exprText(e), x.describe(), y.describe())
	case a.only(isString|falsy) && b.only(isString|falsy) && (a.traits|b.traits)&score != 0:
		w.report(e, RuleMixedComparison, "%s compares two numbers as texts, and '9' is above '10': make both numbers with tonumber", exprText(e))
	}
	w.sameUnit(e, e.Lhs, e.Rhs, a, b)
	for _, side := range []struct {
		e ast.Expr
		v value
	}{{e.Lhs, b}, {e.Rhs, a}} { // another type would have raised an error
		if side.v.only(isNumber) {
			w.narrow(side.e, func(v value) value {
				if v.may(isOther) {
					return value{kinds: isNumber, open: true, unit: v.unit}
				}
				return v.without(falsy)
			})
		}
	}
	return of(isBool)
}

func (w *pass) equality(e *ast.RelationalOpExpr, a, b value) {
	for _, s := range []struct {
		x     ast.Expr
		v     value
		other ast.Expr
	}{{e.Lhs, a, e.Rhs}, {e.Rhs, b, e.Lhs}} {
		if _, ok := s.other.(*ast.NilExpr); ok && s.v.reply != "" && s.v.known() && s.v.may(isFalse) && !s.v.may(isNil|isDoubt) {
			w.report(e, RuleFalseReply, "the reply of %s is never nil: a missing key or field is false, so write `not %s` or compare with false", s.v.reply, exprText(s.x))
			return
		}
	}
	if !a.known() || !b.known() {
		return
	}
	x, y := a.kinds, b.kinds
	if x.maybe()&y.maybe() == 0 && (x|y)&^falsy != 0 && x&^falsy != 0 && y&^falsy != 0 && (x|y)&isTable == 0 {
		w.report(e, RuleMixedComparison, "%s compares %s with %s, which is never equal: make both of one type, with tonumber or tostring", exprText(e), x.describe(), y.describe())
		return
	}
	w.sameUnit(e, e.Lhs, e.Rhs, a, b)
}

// maybe spells a doubt out.
func (k kinds) maybe() kinds {
	if k&isDoubt != 0 {
		return k | isNil | isFalse
	}
	return k
}

func (w *pass) concat(e *ast.StringConcatOpExpr) value {
	a, b := w.one(e.Lhs), w.one(e.Rhs)
	w.joined(e.Lhs, a)
	w.joined(e.Rhs, b)
	out := value{kinds: isString, open: true, traits: (a.traits | b.traits) & (fromCaller | fromKey)}
	if len(a.keys)+len(b.keys) > 0 {
		out.traits |= fromKey
	}
	x, okA := a.literal()
	y, okB := b.literal()
	switch {
	case okA && okB:
		return text(x + y)
	case okA:
		out.lead = x
	default:
		out.lead = a.lead
	}
	return out
}

// joined checks a value that becomes a part of a text.
func (w *pass) joined(e ast.Expr, v value) {
	w.usable(e, v, isPlain, "join")
	w.digits(e, v, "..")
}

// digits reports a number that loses digits where it becomes text.
func (w *pass) digits(e ast.Expr, v value, by string) {
	if v.only(isNumber|falsy) && v.traits&long != 0 {
		name := exprText(e)
		if v := w.file.base(e); v == nil {
			name = "x"
		}
		w.report(e, RuleNumberText, "%s keeps only 14 digits of a number, and %s may have more: write string.format('%%.0f', %s), or '%%.17g' for a fraction", by, exprText(e), name)
	}
}

func (w *pass) arithmetic(e *ast.ArithmeticOpExpr) value {
	a, b := w.one(e.Lhs), w.one(e.Rhs)
	if a.kinds == 0 || b.kinds == 0 {
		return value{}
	}
	w.number(e.Lhs, a, "calculate with")
	w.number(e.Rhs, b, "calculate with")
	for _, side := range []ast.Expr{e.Lhs, e.Rhs} { // otherwise it would have raised an error
		w.narrow(side, func(v value) value { return v.without(falsy) })
	}
	out := value{kinds: isNumber, open: true}
	switch e.Operator {
	case "+", "-":
		w.sameUnit(e, e.Lhs, e.Rhs, a, b)
		if out.unit = a.unit; out.unit == "" {
			out.unit = b.unit
		}
		out.traits = (a.traits | b.traits) & long
		if a.traits&b.traits&long != 0 && e.Operator == "-" {
			out.traits &^= long // a span
		}
	case "*":
		out.unit = scaled(a, b, false)
		if out.unit == "" {
			out.unit = scaled(b, a, false)
		}
		out.traits = (a.traits | b.traits) & (span | long)
		if a.reply == "TIME" || b.reply == "TIME" {
			out.traits |= long
		}
	case "/":
		out.unit = scaled(a, b, true)
		out.traits = a.traits & (span | long)
	case "%":
		out.unit = a.unit
	}
	return out
}

// number checks an operand of arithmetic, or a bound of a for.
func (w *pass) number(e ast.Expr, v value, doing string) {
	w.usable(e, v, isPlain, doing)
}

// usable checks that a value is of the types that an operation needs.
func (w *pass) usable(e ast.Expr, v value, need kinds, doing string) {
	bad := v.kinds &^ (need | isDoubt | isOther)
	if bad&(isNil|isFalse) != 0 && v.kinds&isOther == 0 {
		w.lacks(e, v, bad, doing)
	} else if bad&isTable != 0 && slices.ContainsFunc(v.objs, func(o *object) bool { return o.failed }) {
		w.report(e, RuleMaybeNil, "cannot %s %s where it is the table of an error, which redis.pcall returns if the command fails: test its type first, or write redis.call", doing, exprText(e))
	} else if bad != 0 && v.known() && v.kinds&need == 0 {
		w.report(e, RuleMaybeNil, "cannot %s %s, which is %s", doing, exprText(e), bad.describe())
	}
}

// lacks reports an operation on a reply or an optional argument that may be nil or false, or on what surely is. Where else a value may be
// missing, running finds it.
func (w *pass) lacks(e ast.Expr, v value, bad kinds, doing string) {
	why, hint := "", "test it first"
	switch {
	case v.reply != "":
		why, hint = " of "+v.reply, "a missing key or field is false, so test it first"
	case v.arg != nil && v.arg.Optional:
		hint = "the header makes it optional, so test it first or give it a default"
	}
	if p := w.file.named(e); (why != "" || v.arg != nil || v.only(falsy)) && (p == nil || !p.param || p.owner.contract != nil) {
		w.report(e, RuleMaybeNil, "cannot %s %s%s where it is %s: %s", doing, exprText(e), why, (bad & (isNil | isFalse)).describe(), hint)
	}
	w.narrow(e, func(v value) value { // one finding is enough
		if v = v.without(falsy); v.kinds == 0 {
			return anything()
		}
		return v
	})
}

// indexable checks the table of a field or an element.
func (w *pass) indexable(e *ast.AttrGetExpr, object value) {
	w.usable(e.Object, object, isTable|isString, "index")
}
