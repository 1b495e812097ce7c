package policy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Micros is an amount in millionths of any currency. It mirrors fcall.Micros, because this package does not link a Redis client.
type Micros int64

const (
	microDigits = 6
	oneUnit     = 1_000_000
)

var errMicros = errors.New(`must be an amount with at most six decimals, such as 5 or "0.000001"`)

// ParseMicros reads decimal text such as "5" or "0.000001" exactly. It accepts at most six decimals and no exponent.
func ParseMicros(text string) (Micros, error) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, frac, point := strings.Cut(digits, ".")
	octal := len(whole) > 1 && whole[0] == '0' // some YAML parsers read 010 as 8
	if !isDigits(whole) || octal || point && !isDigits(frac) || len(frac) > microDigits {
		return 0, errMicros
	}
	units, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || units > (1<<63-1)/oneUnit-1 {
		return 0, fmt.Errorf("must be less than %d", int64((1<<63-1)/oneUnit))
	}
	rest, _ := strconv.ParseInt((frac + "000000")[:microDigits], 10, 64)
	m := Micros(units*oneUnit + rest)
	if negative {
		m = -m
	}
	return m, nil
}

// String returns the amount without trailing zeros: 5, 0.02.
func (m Micros) String() string {
	sign, u := "", uint64(m)
	if m < 0 {
		sign, u = "-", -u
	}
	whole := sign + strconv.FormatUint(u/oneUnit, 10)
	if u%oneUnit == 0 {
		return whole
	}
	return whole + "." + strings.TrimRight(strconv.FormatUint(oneUnit+u%oneUnit, 10)[1:], "0")
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
