package fcall

import (
	"math"
	"regexp"
	"strconv"
)

// NoMin and NoMax are the bounds of a float that has none.
const (
	NoMin = math.MinInt64
	NoMax = math.MaxInt64
)

// Float adds a number from minimum to maximum, as the shortest text that reads back as the same float64. -0 is sent as 0. NaN and
// infinities are out of bounds.
func (a *Args) Float(name string, v float64, minimum, maximum int64) {
	below, above := minimum != NoMin && v < float64(minimum), maximum != NoMax && v > float64(maximum)
	if below || above || v-v != 0 {
		a.reject(name, mustFloat(minimum, maximum), floatText(v))
		return
	}
	a.cmd = append(a.cmd, floatText(v+0))
}

// OptFloat adds a number; 0 means omitted. It is for ranges without 0.
func (a *Args) OptFloat(name string, v float64, minimum, maximum int64) {
	if v == 0 {
		a.omit()
		return
	}
	a.Float(name, v, minimum, maximum)
}

// OptFloatPtr adds a number; nil means omitted. It is for ranges with 0.
func (a *Args) OptFloatPtr(name string, v *float64, minimum, maximum int64) {
	if v == nil {
		a.omit()
		return
	}
	a.Float(name, *v, minimum, maximum)
}

func floatText(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Signed reads a whole number between -MaxInt and MaxInt, both excluded. The server sends text, which is empty for 0.
func (r *Reply) Signed(field string) int64 {
	text := r.Text(field)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= -MaxInt || n >= MaxInt || n == 0 || strconv.FormatInt(n, 10) != text {
		r.fail(field, mustInt(1-MaxInt, MaxInt-1), describe(text))
		return 0
	}
	return n
}

var decimal = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?$`)

// Float reads a finite number. The server sends text, which is empty for 0.
func (r *Reply) Float(field string) float64 {
	text := r.Text(field)
	if text == "" {
		return 0
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !decimal.MatchString(text) {
		r.fail(field, mustFloat(NoMin, NoMax), describe(text))
		return 0
	}
	return v
}
