package vet

import (
	"math"
	"strconv"
)

// formatted adds what is known of a number to its text, which string.format writes as a whole number.
func (r *run) formatted(pattern string, v, out value) value {
	round := map[string]func(float64) float64{"%.0f": math.RoundToEven, "%d": math.Trunc}[pattern]
	if round == nil || v.lenient || !v.only(isNumber) {
		return out
	}
	if n, ok := v.number(); ok {
		text := strconv.FormatFloat(round(n), 'f', 0, 64)
		out.literal, out.fixed = &text, true
		return out
	}
	in := v.interval()
	out.unit, out.content = v.unit, v.content
	if len(v.reply) == 0 { // else it may be the longest of those that the key holds
		out.setSpan(v.span())
	}
	out.floored = v.floored || pattern == "%d" && v.may(isFrac) && !(in.known && in.low >= 1)
	if in.known {
		out.in, out.digits = in, true
		out.in.low, out.in.high = round(in.low), round(in.high)
		out.in.nonzero = in.nonzero && v.only(isInt)
		out.in.related = in.related || r.here().lib != ""
	}
	return out
}
