package vet

import (
	"math"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// needs reports an operation on a value that may be nil or false, because Lua raises an error, perhaps after a write. After the
// operation the value is neither.
func (r *run) needs(s *state, v value, e ast.Expr, doing string) {
	if v.json == decodedField {
		r.decoded(v, e, doing)
		return
	}
	r.noTable(s, v, e, doing)
	if v.vague() || !v.may(isFalsy) || v.may(isTrue) {
		return // Lua rejects a bool at the first call
	}
	what := "nil"
	if !v.may(isNil) {
		what = "false"
	}
	hint := "test it first"
	if len(v.reply) > 0 && v.may(isFalse) {
		hint = "a missing key or field is false: test it first"
		if doing == "compare" && v.may(isStr) {
			hint = "a missing key or field is false, and any other a string: compare tonumber(... or 0) or 0"
		}
	}
	node, at := r.origin(e)
	if r.reportOnce(at, RuleMaybeNil) {
		if node == e {
			r.report(at, RuleMaybeNil, "cannot %s %s where it is %s: %s", doing, exprText(e), what, hint)
		} else {
			r.report(at, RuleMaybeNil, "%s may be %s, and %s cannot %s it: %s", exprText(node), what, r.top().fn.name, doing, hint)
		}
	}
	r.learn(s, e, func(v value) value {
		if v.only(isFalsy) {
			return anything() // this path has ended; one finding is enough
		}
		v.assumed = true
		return v.truthy()
	})
}

// reportOnce reports whether the rule has no finding at the place yet.
func (r *run) reportOnce(at site, rule string) bool {
	r.reports++
	if r.c.quiet || r.c.said[said{at, rule}] {
		return false
	}
	r.c.said[said{at, rule}] = true
	return true
}

func (r *run) arithmetic(s *state, e *ast.ArithmeticOpExpr, a, b value) value {
	r.needs(s, a, e.Lhs, "calculate with")
	r.needs(s, b, e.Rhs, "calculate with")
	r.callerNumber(e.Lhs, a)
	r.callerNumber(e.Rhs, b)
	out := value{reply: union(a.reply, b.reply), content: a.content || b.content, proof: arithmeticProof(e.Operator, a, b)}
	if _, fixed := b.number(); fixed && (e.Operator == "/" || e.Operator == "*") {
		out.setSpan(a.span())
	}
	if _, fixed := a.number(); fixed && e.Operator == "*" {
		out.setSpan(b.span())
	}
	r.divisor(e, b)
	out.in = calculate(e.Operator, a.minuend(e.Operator), b.subtrahend(e.Operator))
	out.in = r.share(e, a.interval(), b.interval(), out.in)
	out.in.related = out.in.related || r.here().lib != ""
	if e.Operator == "%" && out.in.known && a.only(isInt) && b.only(isInt) && b.interval().high-1 < out.in.high {
		out.in.high = b.interval().high - 1
	}
	if len(r.frames) == 1 && r.loops == 0 && (e.Operator == "+" || e.Operator == "-") && a.interval().sure&b.interval().sure == bothEnds {
		out.in.sure = bothEnds
	}
	out.in.ends = possible(e.Operator, a, b)
	out.in = r.differing(s, e, out.in)
	out.taint = r.drifts(e, a, b, out.in) | r.setsBack(e, a, b, out.in)
	if e.Operator == "-" && r.isRest(s, e) {
		out.in = out.in.narrowed(">", between(0, 0), a.only(isInt) && b.only(isInt))
	}
	out.unit = calculatedUnit(e.Operator, a, b)
	out.left = a.left
	if out.left == 0 && e.Operator == "-" {
		out.left = -b.left
	} else if out.left == 0 {
		out.left = b.left
	}
	sum := e.Operator == "+" && (r.beyond(a) && b.unlimited() || r.beyond(b) && a.unlimited())
	power := e.Operator == "^" && b.unbounded() && r.here().lib == ""
	out.product = power || sum || e.Operator != "%" && (a.product || b.product) || e.Operator == "*" && r.here().lib == "" && (a.unbounded() && b.literal == nil || b.unbounded() && a.literal == nil)
	if e.Operator == "*" || e.Operator == "/" {
		x, y := a.interval(), b.interval()
		out.minusZero = a.minusZero || b.minusZero || r.here().lib == "" && x.known && y.known && (x.has(0) && y.low < 0 || y.has(0) && x.low < 0 && e.Operator == "*")
	}
	if (e.Operator == "+" || e.Operator == "-") && r.here().lib == "" {
		out.setSpan(a.span())
		if out.span() == "" && e.Operator == "+" {
			out.setSpan(b.span())
		}
	}
	inexact := isInt // the result of two whole numbers
	switch e.Operator {
	case "/":
		if !r.divides(s, e, a, b) {
			inexact = isFrac
		}
	case "%":
		out.content = b.content
	case "^":
		if _, ok := b.number(); !ok {
			inexact = isNum
		}
	}
	x, y := a.numbers(), b.numbers()
	if (x|y)&isNum != 0 {
		out.kinds |= isNum
	}
	if x&isFrac != 0 && y&(isFrac|isInt) != 0 || y&isFrac != 0 && x&(isFrac|isInt) != 0 {
		out.kinds |= isFrac
	}
	if x&y&isInt != 0 {
		out.kinds |= inexact
	}
	return out
}

// minuend returns the range of the left side of an operation. A stored number from which something is subtracted may be 0, if nothing else
// is known of it.
func (v value) minuend(operator string) interval {
	in := v.interval()
	if operator == "-" && !in.known && in.ends&lowEnd != 0 {
		in.known, in.high = true, math.Inf(1)
	}
	return in
}

// subtrahend returns the range of the right side. A stored number that is subtracted may be as great as any, if nothing else is known of it.
func (v value) subtrahend(operator string) interval {
	in := v.interval()
	if operator == "-" && !in.known && in.ends&highEnd != 0 {
		in.known, in.high = true, maxWhole
	}
	return in
}

// numbers returns the number kinds of the value in an operation, one by one, so an operation on joined paths gives the same result as
// on each path.
func (v value) numbers() kind {
	k := v.kinds & isNumber
	if v.lenient || v.may(isStr) && !v.digits {
		k |= isNum
	}
	if v.may(isStr) && v.digits || k == 0 {
		k |= isInt
	}
	return k
}

// divides reports whether a division is exact: by its literals, because the code subtracts the remainder first, as in
// (a - a % b) / b, or by a condition.
func (r *run) divides(s *state, e *ast.ArithmeticOpExpr, a, b value) bool {
	if x, ok := a.number(); ok {
		if y, ok := b.number(); ok && y != 0 && x/y == float64(int64(x/y)) {
			return true
		}
	}
	if minus, ok := e.Lhs.(*ast.ArithmeticOpExpr); ok && minus.Operator == "-" {
		text := r.remainder(minus.Rhs)
		return text != "" && text == r.dividesText(minus.Lhs, e.Rhs)
	}
	if r.dividesLength(s, e.Lhs, b) {
		return true
	}
	text := r.dividesText(e.Lhs, e.Rhs)
	return text != "" && s.facts.has(text+"==0")
}

// dividesLength reports whether an expression is the length of a table, every possible one of which a number divides.
func (r *run) dividesLength(s *state, e ast.Expr, by value) bool {
	length, ok := e.(*ast.UnaryLenOpExpr)
	n, fixed := by.number()
	if !ok || !fixed || n < 1 || n > mostItems || n != math.Trunc(n) {
		return false
	}
	v, known := r.peek(s, length.Expr)
	for _, id := range v.objects {
		o := s.get(id)
		if o == nil || o.open || !o.size.known || o.size.least%int32(n) != 0 || o.size.step%int32(n) != 0 {
			return false
		}
	}
	return known && !v.lenient && v.only(isTable) && len(v.objects) > 0
}

func (r *run) dividesText(a, b ast.Expr) string {
	x, y := r.pathOf(a), r.pathOf(b)
	if x == "" || y == "" {
		return ""
	}
	return x + "%" + y
}

func (r *run) remainder(e ast.Expr) string {
	if op, ok := e.(*ast.ArithmeticOpExpr); ok && op.Operator == "%" {
		return r.dividesText(op.Lhs, op.Rhs)
	}
	return ""
}

func (r *run) minus(s *state, e *ast.UnaryMinusOpExpr, v value) value {
	r.needs(s, v, e.Expr, "calculate with")
	out := value{kinds: v.kinds & isNumber, left: -v.left}
	if v.literal != nil && v.only(isNumber) {
		text := "-" + strings.TrimPrefix(*v.literal, "-")
		out.literal = &text
	}
	in := v.interval()
	if in.known {
		out.in = between(-in.high, -in.low)
		out.in.nonzero, out.in.ends = in.nonzero, in.ends.swapped()
	}
	out.minusZero = in.has(0) && !v.lenient && v.literal == nil && r.sees(v)
	if out.kinds == 0 {
		out.kinds = isNum
	}
	return out
}

func (r *run) compare(s *state, e *ast.RelationalOpExpr, a, b value) value {
	out := value{kinds: isBool, reply: union(a.reply, b.reply), proof: compareProof(e.Operator, a, b)}
	out.setOrder(ordered(e.Operator, a, b))
	if !r.narrowing[e] && !r.branching[e] {
		r.bounded(s, e.Lhs, e.Rhs)
	}
	if a.in.told && b.literal != nil || b.in.told && a.literal != nil {
		out.kinds = decided(e.Operator, a, b)
	}
	if a.content || b.content {
		s.countMet(a.reply, b.reply)
	}
	r.inOneScale(e, e.Lhs, e.Rhs, a, b)
	r.age(s, e, a, b)
	if e.Operator != "==" && e.Operator != "~=" {
		r.needs(s, a, e.Lhs, "compare")
		r.needs(s, b, e.Rhs, "compare")
		r.mixed(e, a, b)
		return out
	}
	r.noteEquated(e, a, b)
	equal, unequal := kind(isTrue), kind(isFalse)
	if e.Operator == "~=" {
		equal, unequal = isFalse, isTrue
	}
	for _, side := range []struct {
		v, other value
		e        ast.Expr
	}{{a, b, e.Lhs}, {b, a, e.Rhs}} {
		if side.other.only(isNil) && side.v.may(isFalse) && !side.v.may(isNil) && len(side.v.reply) > 0 && side.v.may(isStr|isTable|isInt) {
			r.report(r.at(e), RuleFalseReply, "%s is never nil: a missing value in Redis is false in Lua; write `not %s`, or compare with false", exprText(side.e), exprText(side.e))
		}
	}
	switch {
	case a.lenient || b.lenient:
	case overlap(a.kinds)&overlap(b.kinds) == 0:
		out.kinds = unequal
	case a.only(isNil) && b.only(isNil) || a.only(isTrue) && b.only(isTrue) || a.only(isFalse) && b.only(isFalse):
		out.kinds = equal
	case a.only(isStr) && b.only(isStr) && a.literal != nil && b.literal != nil:
		out.kinds = unequal
		if *a.literal == *b.literal {
			out.kinds = equal
		}
	}
	return out
}

// overlap merges the number kinds, because an unknown number may be whole.
func overlap(k kind) kind {
	if k&isNumber != 0 {
		k |= isNumber
	}
	return k
}

func (r *run) concat(s *state, e *ast.StringConcatOpExpr, a, b value) value {
	for _, side := range []struct {
		v value
		e ast.Expr
	}{{a, e.Lhs}, {b, e.Rhs}} {
		r.needs(s, side.v, side.e, "join")
		r.numberText(side.v, side.e, "..")
	}
	out := value{kinds: isStr, taint: a.taint | b.taint, fixed: a.fixed && b.fixed, digits: a.digits && b.digits}
	if out.taint&fromStore != 0 {
		out.taint |= packs
	}
	switch {
	case a.literal == nil:
		out.setPrefix(a.prefix())
	case b.literal == nil:
		out.setPrefix(*a.literal + b.prefix())
	default:
		both := *a.literal + *b.literal
		out.literal = &both
	}
	return out
}

// printsExactly reports whether Lua writes all digits of a number: it is whole and surely has at most 14.
func (v value) printsExactly() bool {
	if v.literal != nil {
		return len(*v.literal) < 14 && !v.may(isFrac)
	}
	return v.kinds&isNumber == isInt && v.in.sure == bothEnds && v.in.known && v.in.low > -1e14 && v.in.high < 1e14 && !v.minusZero
}

// numberText reports a number that Lua converts to text.
func (r *run) numberText(v value, e ast.Expr, by string) {
	if v.vague() || !v.may(isNumber) {
		return
	}
	if v.printsExactly() {
		return
	}
	r.report(r.at(e), RuleNumberText, "%s writes the number %s with 14 digits, so a time in microseconds becomes 1.7637064671235e+15: write string.format('%%.0f', %s), or pass the number to redis.call", by, exprText(e), exprText(e))
}
