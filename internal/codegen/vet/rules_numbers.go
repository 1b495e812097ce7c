package vet

import (
	"cmp"
	"math"

	"github.com/yuin/gopher-lua/ast"
)

// divisor reports a division by a number that may be 0.
func (r *run) divisor(e *ast.ArithmeticOpExpr, v value) {
	if e.Operator == "/" || e.Operator == "%" {
		r.notZero(e, e.Rhs, v)
	}
}

func (r *run) notZero(at, e ast.Expr, v value) {
	if v.vague() || !v.only(isNumber|isStr|isNil|isFalse) {
		return
	}
	in := v.interval()
	if in.known && !in.has(0) || !in.known && (len(v.reply) == 0 || v.only(isStr)) || !r.sees(v) {
		return
	}
	if !r.reportOnce(r.at(at), RuleDivisionByZero) {
		return
	}
	r.report(r.at(at), RuleDivisionByZero, "%s may be 0, and Lua's quotient is then infinite or NaN, with which every comparison is false: bound it by its @arg, or test %s > 0 before", exprText(e), exprText(e))
}

// sees reports whether vet knows what bounds a number: in a function file, of an argument that a lib file gets unchanged, and of what it
// calculates from independent arguments. A relation that its callers keep may bound any other, and vet knows no relations.
func (r *run) sees(v value) bool {
	return r.here().lib == "" && !v.in.related || v.name() != "" || v.in.known && v.in.ends&bothEnds != 0
}

// negativeZero reports a number that may be -0 where it becomes text.
func (r *run) negativeZero(e ast.Expr, v value) {
	if v.lenient || !v.minusZero {
		return
	}
	node, at := r.origin(e)
	r.report(at, RuleNegativeZero, "%s may be -0, which is sent as the text -0 and is not an integer for Redis: write 0 - x, or test that it is not 0", exprText(node))
}

// unlimited reports whether nothing says how great a number may be.
func (v value) unlimited() bool {
	in := v.interval()
	return !in.known || math.IsInf(in.high, 1)
}

// anyNumber reports whether a value is a stored number of which nothing says how great it is.
func (v value) anyNumber() bool {
	return v.in.ends&highEnd != 0 && !v.lenient && v.literal == nil && v.unlimited() && !v.in.told
}

// unbounded reports whether a value is a stored number that nothing bounds.
func (v value) unbounded() bool {
	return (v.may(isNum) || !v.in.known && v.in.ends&highEnd != 0) && len(v.reply) > 0 && !v.lenient && v.left == 0 && !v.content && v.unlimited()
}

// beyond reports whether the header's bounds allow a number beyond the whole ones.
func (r *run) beyond(v value) bool {
	in := v.interval()
	return !v.lenient && v.literal == nil && in.known && in.high >= 2*maxWhole && !math.IsInf(in.high, 1) && r.sees(v)
}

// fewAdded is how much a call may add to a number that is at most 2^53 without a finding: so little that no number of calls gets it there.
const fewAdded = 1000

// inRange reports a number that its header's bounds allow to leave the range of whole numbers.
func (r *run) inRange(e ast.Expr, v value, signed bool) {
	in := v.interval()
	if v.product && v.may(isNumber) && !v.lenient && v.unlimited() && r.here().lib == "" {
		node, at := r.origin(e)
		r.report(at, RuleNumberRange, "%s is calculated with a number that nothing bounds, and may be beyond 2^53: clamp it with math.min, or compare before", exprText(node))
		return
	}
	if v.lenient || !in.known || v.literal != nil || !v.may(isNumber) || !r.sees(v) || math.IsInf(in.low, 0) || math.IsInf(in.high, 0) {
		return
	}
	node, at := r.origin(e)
	switch {
	case in.high == math.MaxFloat64 || in.low == -math.MaxFloat64:
		r.report(at, RuleNumberRange, "%s may be infinite or NaN, which Redis takes for no number or stores as a text: bound its @arg, or clamp what it is calculated from", exprText(node))
	case in.summed && (in.high <= maxWhole || in.ends&highEnd == 0):
	case in.summed || in.high >= 2*maxWhole || in.low <= -2*maxWhole || in.high > maxWhole+fewAdded && in.ends&highEnd != 0:
		r.report(at, RuleNumberRange, "%s may be beyond 2^53, where Lua loses digits and Redis reads no integer: bound its @arg lower, or clamp it with math.min", exprText(node))
	case in.low <= -maxWhole && !signed:
		r.report(at, RuleNumberRange, "%s may be below 0, which no count can be: clamp it with math.max(..., 0), or compare before", exprText(node))
	}
}

// possible returns the ends of an operation's range that are possible, because its sides have nothing to do with each other there.
func possible(operator string, a, b value) ends {
	x, y := a.interval().ends, b.interval().ends
	switch {
	case !apart(a, b):
	case operator == "+":
		return x & y
	case operator == "-":
		out := x & y.swapped()
		if y&(highEnd|countEnd) != 0 && cmp.Or(a.name(), a.span()) != "" && a.interval().high < b.subtrahend(operator).high {
			out |= lowEnd // however great the argument is: another call may have had a greater one
		}
		return out
	case operator == "*" && x&y == bothEnds:
		return bothEnds
	}
	return 0
}

// apart reports whether no relation is known between two numbers: one is a constant, or they are two arguments, or an argument and a stored
// number.
func apart(a, b value) bool {
	x, y := a.interval(), b.interval()
	from, to := cmp.Or(a.name(), a.span()), cmp.Or(b.name(), b.span())
	return x.known && x.low == x.high || y.known && y.low == y.high || from != "" && to != "" && from != to ||
		from != "" && len(b.reply) > 0 || to != "" && len(a.reply) > 0
}

// bitOffset reports an offset in a string that its header allows to be beyond what Redis takes.
func (r *run) bitOffset(e *ast.FuncCallExpr, name string, args []value) {
	most := map[string]float64{"SETBIT": 1<<32 - 1, "GETBIT": 1<<32 - 1, "SETRANGE": 1<<29 - 1}[name]
	if most == 0 || len(args) < 2 || args[1].lenient {
		return
	}
	in := args[1].interval()
	node, at := r.origin(argument(e, 2))
	switch behind := args[1].taint&setBack != 0 && !args[1].isNeverNegative(); {
	case !behind && !r.sees(args[1]):
	case !behind && in.ends&lowEnd != 0 && in.low < 0:
		r.report(at, RuleNumberRange, "%s may be %.0f, and %s refuses an offset below 0: compare before, or bound its @arg", exprText(node), in.low, name)
	case behind:
		r.report(at, RuleNumberRange, "%s may be below 0, because nothing compares the time with the clock, and %s refuses such an offset: compare before, or clamp it with math.max(..., 0)", exprText(node), name)
	case in.known && in.high > most, args[1].anyNumber():
		r.report(at, RuleNumberRange, "%s may be above %.0f, the last offset that %s takes: bound its @arg, or clamp it with math.min", exprText(node), most, name)
	}
}

// belowZero reports a number that the header's bounds allow to be below 0 where there is no sign.
func (r *run) belowZero(e ast.Expr, v value) bool {
	in := v.interval()
	if v.lenient || !in.known || in.ends&lowEnd == 0 || in.low >= 0 || math.IsInf(in.low, -1) || v.literal != nil || !r.sees(v) {
		return false
	}
	node, at := r.origin(e)
	r.report(at, RuleNumberRange, "%s may be %.0f, and no count is below 0: clamp it with math.max(..., 0), compare before, or bound its @arg", exprText(node), in.low)
	return true
}

var numberRules = []Rule{
	{
		ID:     RuleDivisionByZero,
		Checks: "Checks that no divisor can be 0, by its header's bounds or by a test before.",
		Why:    "A quotient by 0 is infinite or NaN: commands refuse it or store the text inf, and `if n / parts > limit` admits every call, because each comparison with NaN is false.",
		Bad:    hit("return math.floor(window_us / redis.call('STRLEN', counter))"),
		Good:   hit("return math.floor(window_us / math.max(redis.call('STRLEN', counter), 1))"),
	},
	{
		ID:     RuleNegativeZero,
		Checks: "Checks that no number that becomes text can be -0.",
		Why:    "Lua's -0 equals 0, but its text is -0, which INCRBY refuses and a later read does not take for the number that was meant.",
		Bad:    hit("local length = redis.call('STRLEN', counter)", "redis.call('SET', counter, -length, 'PX', math.ceil(window_us / 1000))", "return length"),
		Good:   hit("local length = redis.call('STRLEN', counter)", "redis.call('SET', counter, 0 - length, 'PX', math.ceil(window_us / 1000))", "return length"),
	},
	{
		ID:     RuleNumberRange,
		Checks: "Checks that a number of known bounds stays within 2^53 where a command or the reply gets it, that a result stays within the bounds in its header and a count is not below 0, that offsets and bits are within their limits, and that math.sqrt and math.log get numbers of which they have a result.",
		Why:    "Above 2^53 Lua skips whole numbers, and Redis 7.0 gets 9.007199254740992e+18; the generated entry and clients reject a result outside of its bounds, perhaps after a write.",
		Bad:    hit("redis.call('SET', counter, window_us * 1000000, 'PX', math.ceil(window_us / 1000))", "return 1"),
		Good:   hit("redis.call('SET', counter, math.min(window_us * 1000000, 9007199254740992), 'PX', math.ceil(window_us / 1000))", "return 1"),
	},
	{
		ID:     RuleEndlessLoop,
		Checks: "Checks that no loop is seen not to end: a condition, or one around its breaks, that nothing changes, a step that may be 0 or may pass the end, more than 1,000,000 turns by its header's bounds.",
		Why:    "The server answers BUSY to every client until the function is killed, and cannot kill it once it has written.",
		Bad:    hit("local turns, left = redis.call('EXISTS', counter), window_us", "while left > 0 do", "  turns = turns + 1", "end", "return turns"),
		Good:   hit("local turns = redis.call('EXISTS', counter)", "for _ = 1, 10 do", "  turns = turns + 1", "end", "return turns + window_us"),
	},
	{
		ID:     RuleRecursion,
		Checks: "Checks that no function calls itself, directly or through others, unless it returns that call and passes no table, a parameter grows or falls by a constant, and a comparison with a constant before bounds it to 1,000 turns.",
		Why:    "Vet does not follow other recursion, so it cannot check what such a function writes, or that it ends before every client gets BUSY.",
		Bad: hitWith([]string{"local function halved(n)", "  if n < 2 then", "    return 0", "  end", "  return 1 + halved(n / 2)", "end"},
			"return redis.call('STRLEN', counter) + halved(window_us)"),
		Good: hitWith([]string{"local function halved(n)", "  for turns = 0, 52 do", "    if n < 2 then", "      return turns", "    end", "    n = n / 2", "  end", "  return 53", "end"},
			"return redis.call('STRLEN', counter) + halved(window_us)"),
	},
}
