package luahost

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
)

// formatNumber is Lua's "%.14g", which tostring, .. and table.concat use.
func formatNumber(n float64) string {
	if n == math.Trunc(n) && math.Abs(n) < 1e14 && (n != 0 || !math.Signbit(n)) {
		return strconv.FormatInt(int64(n), 10)
	}
	return formatG(n, 14, false)
}

// formatG is C's "%.<precision>g", with the trailing zeros kept if alt.
func formatG(n float64, precision int, alt bool) string {
	if s, special := formatSpecial(n); special {
		return s
	}
	if precision == 0 {
		precision = 1
	}
	e := strconv.FormatFloat(n, 'e', precision-1, 64)
	mark := strings.IndexByte(e, 'e')
	exponent, _ := strconv.Atoi(e[mark+1:])
	var mantissa, tail string
	if exponent < -4 || exponent >= precision {
		mantissa, tail = e[:mark], e[mark:]
	} else {
		mantissa = strconv.FormatFloat(n, 'f', precision-1-exponent, 64)
	}
	if !alt && strings.IndexByte(mantissa, '.') >= 0 {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	return mantissa + tail
}

// formatSpecial is how the C library of the servers prints values that are not numbers.
func formatSpecial(n float64) (string, bool) {
	switch {
	case math.IsInf(n, 1):
		return "inf", true
	case math.IsInf(n, -1):
		return "-inf", true
	case math.IsNaN(n) && math.Signbit(n):
		return "-nan", true
	case math.IsNaN(n):
		return "nan", true
	}
	return "", false
}

// formatArgument is how a number becomes an argument of a command since Redis 7.2.
func formatArgument(n float64) string {
	if s, special := formatSpecial(n); special {
		return s
	}
	return resp.FormatFloat(n)
}

// parseNumber reads a string as Lua 5.1 does where a number is wanted: C's
// strtod, blanks around it, and whatever follows a NUL is not seen.
func parseNumber(s string) (float64, bool) {
	if len(s) > 0 && len(s) <= 15 { // the usual case: a few decimal digits
		n := int64(0)
		for i := 0; ; i++ {
			if i == len(s) {
				return float64(n), true
			}
			c := s[i] - '0'
			if c > 9 {
				break
			}
			n = n*10 + int64(c)
		}
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	n, end := strtod(s)
	if end == 0 {
		return 0, false
	}
	for end < len(s) && isSpace(s[end]) {
		end++
	}
	return n, end == len(s)
}

// strtod reads the longest number at the start of s, after blanks, and returns
// where it ends; 0 means that there is none.
func strtod(s string) (n float64, end int) {
	i := 0
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	start := i
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	negative := i > start && s[start] == '-'
	rest := s[i:]
	switch {
	case foldPrefix(rest, "infinity"):
		i += len("infinity")
		return math.Copysign(math.Inf(1), signOf(negative)), i
	case foldPrefix(rest, "inf"):
		return math.Copysign(math.Inf(1), signOf(negative)), i + 3
	case foldPrefix(rest, "nan"):
		return math.Copysign(quietNaN, signOf(negative)), i + 3
	case foldPrefix(rest, "0x") && hexFollows(rest[2:]):
		n, size := parseHexFloat(rest)
		return math.Copysign(n, signOf(negative)), i + size
	}
	size := decimalPrefix(rest)
	if size == 0 {
		return 0, 0
	}
	n, _ = strconv.ParseFloat(rest[:size], 64) // out of range gives the infinity or 0 that C gives
	if negative {
		n = -n
	}
	return n, i + size
}

// quietNaN is that of C, whose lower bits are 0; Go's has the lowest one set, which bit operations show.
var quietNaN = math.Float64frombits(0x7ff8 << 48)

func signOf(negative bool) float64 {
	if negative {
		return -1
	}
	return 1
}

func foldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func hexFollows(s string) bool {
	return s != "" && (hexDigit(s[0]) >= 0 || s[0] == '.' && len(s) > 1 && hexDigit(s[1]) >= 0)
}

// parseHexFloat reads "0x" and what C99 allows after it.
func parseHexFloat(s string) (n float64, size int) {
	i, dot := 2, false
	for i < len(s) && (hexDigit(s[i]) >= 0 || s[i] == '.' && !dot) {
		dot = dot || s[i] == '.'
		i++
	}
	text := s[:i] + "p0"
	if i < len(s) && s[i]|0x20 == 'p' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if k := j + digits(s[j:]); k > j {
			text, i = s[:k], k
		}
	}
	n, _ = strconv.ParseFloat(text, 64)
	return n, i
}

// decimalPrefix is the length of the decimal number at the start of s.
func decimalPrefix(s string) int {
	i := digits(s)
	whole := i
	if i < len(s) && s[i] == '.' {
		fraction := digits(s[i+1:])
		if whole+fraction == 0 {
			return 0
		}
		i += 1 + fraction
	}
	if i == 0 {
		return 0
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if n := digits(s[j:]); n > 0 {
			return j + n
		}
	}
	return i
}

func digits(s string) int {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return i
}

// toNumber is lua_tonumber: numbers, and strings that read as one.
func toNumber(v lua.LValue) (float64, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return float64(v), true
	case lua.LString:
		return parseNumber(string(v))
	}
	return 0, false
}

// toText is lua_tolstring: strings, and numbers as Lua prints them.
func toText(v lua.LValue) (string, bool) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return formatNumber(float64(v)), true
	}
	return "", false
}

// toInteger is C's conversion of a double to a 64-bit integer on x86-64, where
// everything out of range becomes the least one.
func toInteger(n float64) int64 {
	if n >= -1<<63 && n < 1<<63 {
		return int64(n)
	}
	return math.MinInt64
}

// toInt is toInteger, and where an int has 32 bits the nearest that fits: no text or table is that long.
func toInt(n float64) int { return int(max(math.MinInt, min(toInteger(n), math.MaxInt))) }
