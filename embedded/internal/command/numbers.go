package command

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
)

// parseInt reads a canonical decimal integer: no plus sign, no leading zeros or blanks.
func parseInt(s string) (int64, bool) {
	if len(s) == 0 || len(s) > 20 {
		return 0, false
	}
	digits := s
	if s[0] == '-' {
		digits = s[1:]
	}
	if len(digits) == 0 || digits[0] == '0' && len(s) > 1 {
		return 0, false
	}
	if len(digits) < 19 {
		var n int64
		for i := range len(digits) {
			d := digits[i] - '0'
			if d > 9 {
				return 0, false
			}
			n = n*10 + int64(d)
		}
		if len(digits) != len(s) {
			n = -n
		}
		return n, true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && s[0] != '+'
}

// parseFloat reads what C's strtod reads, but no NaN, nothing beyond the range of a double and no blanks before it.
func parseFloat(s string) (float64, bool) {
	if s == "" || strings.Contains(s, "_") {
		return 0, false
	}
	digits := strings.TrimLeft(s, "+-")
	if len(digits) > 1 && (digits[:2] == "0x" || digits[:2] == "0X") && !strings.ContainsAny(digits, "pP") {
		s += "p0"
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsNaN(f)
}

// beyondDouble reads a number that a double cannot hold: no score, but the end of a range may be one and is infinite.
func beyondDouble(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, errors.Is(err, strconv.ErrRange) && !strings.Contains(s, "_")
}

// formatFloat prints a score.
func formatFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case f == 0 && math.Signbit(f):
		return "-0"
	}
	return resp.FormatFloat(f)
}

// extended is a number of 64 bits of mantissa, as the long double that INCRBYFLOAT and HINCRBYFLOAT compute with.
func extended(s string) (*big.Float, bool) {
	if len(s) == 0 || len(s) >= 5<<10 || strings.ContainsAny(s, "_ ") {
		return nil, false
	}
	base := 10
	if digits := strings.TrimLeft(s, "+-"); len(digits) > 2 && lower(digits[:2]) == "0x" {
		base = 0
	}
	f, _, err := big.ParseFloat(s, base, 64, big.ToNearestEven)
	return f, err == nil
}

// addExtended adds, and prints with up to 17 decimals. It is false for a sum that is not finite.
func addExtended(a, b *big.Float) (string, bool) {
	if a.IsInf() || b.IsInf() {
		return "", false
	}
	sum := new(big.Float).SetPrec(64).Add(a, b)
	text := sum.Text('f', 17)
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	if text == "-0" {
		text = "0"
	}
	return text, true
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
