package vet

import (
	"math"
	"strings"
)

// An interval holds the least and the greatest number that a value can be. Its zero value says nothing.
type interval struct {
	known     bool
	nonzero   bool
	related   bool // a lib file calculated it, so a relation that vet does not know may bound it
	ends      ends // those that are possible: of constants, and of arguments and stored numbers that nothing has compared with others
	summed    bool // all that the turns of a for have added, of which each may be the most that its bounds allow
	told      bool // of a reply, a length or an argument: no calculation in a loop has made it
	sure      ends // those that no calculation in a loop has made
	low, high float64
}

// ends are the ends of an interval.
type ends uint8

const (
	lowEnd ends = 1 << iota
	highEnd
	countEnd // the high end of a count of a key's elements, which an argument that bounds them may be below
	bothEnds = lowEnd | highEnd
)

// swapped returns the ends of the negative.
func (e ends) swapped() ends { return e>>1&lowEnd | e<<1&highEnd }

func between(low, high float64) interval { return interval{known: true, low: low, high: high} }

// nonNegative is what a reply that counts something can be.
var nonNegative = between(0, 1<<40)

// longestTTL is the longest time to live in milliseconds that vet considers, 285 years.
const longestTTL = 9e12

// maxWhole is the greatest number that Lua and every client hold exactly.
const maxWhole = 1 << 53

// interval returns the numbers that a value can be.
func (v value) interval() interval {
	if v.lenient {
		return interval{}
	}
	if n, ok := v.number(); ok && !math.IsNaN(n) {
		in := between(n, n)
		in.ends, in.sure = bothEnds, bothEnds
		return in
	}
	return v.in
}

func (a interval) join(b interval) interval {
	if !a.known || !b.known {
		return interval{ends: a.ends & b.ends}
	}
	out := between(min(a.low, b.low), max(a.high, b.high))
	out.nonzero = !a.has(0) && !b.has(0)
	out.related, out.summed = a.related || b.related, a.summed || b.summed
	out.ends, out.told, out.sure = a.ends&b.ends, a.told && b.told, a.sure&b.sure
	return out
}

// asTold returns the interval of a number as a reply, a length or an argument gives it, so comparisons with constants can be decided.
func (a interval) asTold() interval {
	a.told, a.sure = true, bothEnds
	return a
}

func (a interval) has(n float64) bool {
	return !a.known || a.low <= n && n <= a.high && (n != 0 || !a.nonzero)
}

// calculate returns the interval of an operation's result.
func calculate(operator string, a, b interval) interval {
	out := calculated(operator, a, b)
	out.related = a.related || b.related
	return out
}

func calculated(operator string, a, b interval) interval {
	if !a.known || !b.known {
		if operator == "%" && b.known && b.low > 0 {
			return between(0, b.high)
		}
		return interval{}
	}
	switch operator {
	case "+":
		return between(finite(a.low+b.low, a.low, b.low), finite(a.high+b.high, a.high, b.high))
	case "-":
		return between(finite(a.low-b.high, a.low, b.high), finite(a.high-b.low, a.high, b.low))
	case "^":
		return power(a, b)
	case "*":
		return corners(a, b, func(x, y float64) float64 { return x * y })
	case "/":
		if b.low > 0 || b.high < 0 {
			return corners(a, b, func(x, y float64) float64 { return x / y })
		}
	case "%":
		if b.low > 0 {
			if a.low >= 0 {
				return between(0, min(a.high, b.high))
			}
			return between(0, b.high)
		}
	}
	return interval{}
}

// finite returns an end of a range that two ends give: the greatest double in place of infinity if both are finite, so that a rule sees it.
func finite(end, a, b float64) float64 {
	if math.IsInf(end, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
		return math.Copysign(math.MaxFloat64, end)
	}
	return end
}

func corners(a, b interval, f func(x, y float64) float64) interval {
	if math.IsInf(a.low, 0) || math.IsInf(a.high, 0) || math.IsInf(b.low, 0) || math.IsInf(b.high, 0) {
		return interval{}
	}
	ll, lh, hl, hh := f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)
	return between(max(min(ll, lh, hl, hh), -math.MaxFloat64), min(max(ll, lh, hl, hh), math.MaxFloat64))
}

// rounded returns the interval of a function of the math library.
func rounded(name string, list []interval) interval {
	out := roundedAll(name, list)
	switch name {
	case "math.floor", "math.ceil", "math.max", "math.min":
		out.ends, out.sure = bothEnds, sureOf(name, out, list)
	}
	constants := 0
	for _, in := range list {
		out.related = out.related || in.related
		out.ends &= in.ends
		if in.known && in.low == in.high {
			constants++
		}
	}
	if len(list)-constants >= 2 {
		out.ends = 0
	}
	return out
}

// sureOf returns the sure ends of what rounding gives, or of the greatest or least number of a list: of that, one number bounds one end alone.
func sureOf(name string, out interval, list []interval) ends {
	all, high, low := bothEnds, ends(0), ends(0)
	for _, in := range list {
		if !in.known {
			in.sure, in.low, in.high = bothEnds, math.Inf(-1), math.Inf(1)
		}
		all &= in.sure
		if in.high == out.high {
			high |= in.sure & highEnd
		}
		if in.low == out.low {
			low |= in.sure & lowEnd
		}
	}
	switch name {
	case "math.min":
		return all&lowEnd | high
	case "math.max":
		return all&highEnd | low
	}
	return all
}

func roundedAll(name string, list []interval) interval {
	for _, in := range list {
		if !in.known && name != "math.max" && name != "math.min" {
			return interval{}
		}
	}
	if len(list) == 0 {
		return interval{}
	}
	out := list[0]
	switch name {
	case "math.floor":
		return between(math.Floor(out.low), math.Floor(out.high))
	case "math.ceil":
		return between(math.Ceil(out.low), math.Ceil(out.high))
	case "math.sqrt":
		return monotone(out, math.Sqrt)
	case "math.log":
		return monotone(out, math.Log)
	case "math.exp":
		out = monotone(out, math.Exp)
		out.high = min(out.high, math.MaxFloat64)
		return out
	case "math.log10":
		return monotone(out, math.Log10)
	case "math.pow":
		if len(list) == 2 {
			return power(list[0], list[1])
		}
	case "math.abs":
		if out.low >= 0 {
			return out
		}
		return between(0, max(-out.low, out.high))
	case "math.max", "math.min":
		open := between(math.Inf(-1), math.Inf(1)) // unless it is NaN
		if !out.known {
			out = open
		}
		for _, in := range list[1:] {
			if !in.known {
				in = open
			}
			if name == "math.max" {
				out = between(max(out.low, in.low), max(out.high, in.high))
			} else {
				out = between(min(out.low, in.low), min(out.high, in.high))
			}
		}
		return out
	}
	return interval{}
}

// holds reports whether a comparison of any numbers of two intervals is true, or is false.
func holds(operator string, a, b interval) (truth, sure bool) {
	if !a.known || !b.known {
		return false, false
	}
	switch operator {
	case "<":
		return a.high < b.low, a.high < b.low || a.low >= b.high
	case "<=":
		return a.high <= b.low, a.high <= b.low || a.low > b.high
	case ">":
		return holds("<", b, a)
	case ">=":
		return holds("<=", b, a)
	case "==":
		return false, a.high < b.low || b.high < a.low
	case "~=":
		return true, a.high < b.low || b.high < a.low
	}
	return false, false
}

// decided returns the possible outcomes of a comparison of numbers of which all that they may be is known.
func decided(operator string, a, b value) kind {
	x, y := a.interval(), b.interval()
	truth, sure := holds(operator, x, y)
	if !sure && x.low == x.high && y.low == y.high && x.low == y.low {
		truth, sure = strings.Contains(operator, "=") && operator != "~=", true
	}
	switch {
	case !a.only(isNumber) || !b.only(isNumber) || !x.known || !y.known || !sure:
		return isBool
	case truth:
		return isTrue
	}
	return isFalse
}

// narrowed returns the part of an interval for which a comparison with another is true.
func (a interval) narrowed(operator string, b interval, whole bool) interval {
	if !b.known {
		return a
	}
	if !a.known {
		a.known, a.low, a.high, a.sure = true, math.Inf(-1), math.Inf(1), bothEnds
	}
	before := a
	defer func() {
		if a.high < before.high {
			a.sure = a.sure&^highEnd | b.sure&highEnd
		}
		if a.low > before.low {
			a.sure = a.sure&^lowEnd | b.sure&lowEnd
		}
	}()
	below, above := math.Nextafter(b.high, math.Inf(-1)), math.Nextafter(b.low, math.Inf(1))
	if whole {
		below, above = b.high-1, b.low+1
	}
	switch operator {
	case "<":
		a.high = min(a.high, below)
	case "<=":
		a.high = min(a.high, b.high)
	case ">":
		a.low = max(a.low, above)
	case ">=":
		a.low = max(a.low, b.low)
	case "==":
		a.low, a.high = max(a.low, b.low), min(a.high, b.high)
	case "~=":
		if b.low != b.high {
			break
		}
		a.nonzero = a.nonzero || b.low == 0
		if whole && a.low == b.low {
			a.low++
		}
		if whole && a.high == b.high {
			a.high--
		}
	}
	return a
}
