package policy

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/guard/identity"
)

// A textFormat is the required form of a text.
type textFormat struct {
	check   func(string) string // returns "must be ...", or "" for a valid text
	pattern string              // for docs/policy.schema.json, at most as strict as check; "" for any text
}

const (
	maxSubject = 512
	ipMark     = "ip=" // begins a subject that is an address or a prefix
)

var formats = map[string]textFormat{
	"name":      matching(`^[A-Za-z0-9_-]{1,32}$`, "must be 1 to 32 of the characters A-Z a-z 0-9 _ -"),
	"namespace": matching(`^[A-Za-z0-9_.-]{1,64}$`, "must be 1 to 64 of the characters A-Z a-z 0-9 _ - ."),
	"header":    matching("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$", "must be a header name"),
	"identity":  {checkIdentity, identityName.String()},
	"parameter": matching(`^[A-Za-z0-9_.:/-]{1,64}$`, "must be 1 to 64 of the characters A-Z a-z 0-9 _ - . : /"),
	"claim":     matching(`^[A-Za-z0-9_.:/-]{1,256}$`, "must be 1 to 256 of the characters A-Z a-z 0-9 _ - . : /"),
	"path":      {checkPath, `^.+$`},
	"proxy":     {checkProxy, `^(unix|[0-9A-Fa-f:.]+(/[0-9]{1,3})?)$`},
	"pattern":   {checkPattern, `^([A-Z]+[ \t]+)?[^ \t]*/[^ \t]*$`},
	"target":    {checkTarget, `^([A-Z]+[ \t]+)?[^ \t]*/[^ \t]*$`},
	"rate":      {checkRate, `^[0-9]+/[0-9].*$`},
	"subject":   {checkSubject, `^.{1,512}$`},
	"share":     {},
	"warn":      {},
}

var identityName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

func checkIdentity(s string) string {
	switch {
	case identityName.MatchString(s):
		return ""
	case identityName.MatchString(strings.ToLower(s)):
		return "must be lower case, as " + strings.ToLower(s)
	}
	return "must be 1 to 32 of the characters a-z 0-9 _ - and begin with a letter"
}

func matching(pattern, message string) textFormat {
	valid := regexp.MustCompile(pattern)
	return textFormat{pattern: pattern, check: func(s string) string {
		if valid.MatchString(s) {
			return ""
		}
		return message
	}}
}

// is reports whether a text has a format.
func is(format, text string) bool { return formats[format].check(text) == "" }

func checkPath(s string) string {
	if s == "" || len(s) > 1024 {
		return "must be 1 to 1024 bytes"
	}
	return ""
}

func checkProxy(s string) string {
	if _, _, err := identity.ParseProxies([]string{s}); err != nil {
		return err.Error()
	}
	return ""
}

func checkSubject(s string) string {
	if s == "" || len(s) > maxSubject {
		return "must be a subject of 1 to 512 bytes, such as user=42"
	}
	text, ok := strings.CutPrefix(s, ipMark)
	if !ok {
		return ""
	}
	if _, err := identity.ParsePrefix(text); err != nil {
		return err.Error()
	}
	return ""
}

const maxQuoted = 64

// quote returns s in quotes, cut after 64 bytes.
func quote(s string) string {
	if len(s) > maxQuoted {
		return strconv.Quote(s[:maxQuoted]) + "... (" + strconv.Itoa(len(s)) + " bytes)"
	}
	return strconv.Quote(s)
}

// either lists values for a message: a, b or c.
func either(values []string) string {
	last := len(values) - 1
	if last == 0 {
		return values[0]
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

const day = 24 * time.Hour

var errDuration = errors.New("must be a duration such as 90s, 1m30s or 30d")

// ParseDuration reads Go's syntax, or whole days such as 30d.
func ParseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseInt(days, 10, 64)
		if err != nil || !isDigits(days) || n > math.MaxInt64/int64(day) {
			return 0, errDuration
		}
		return time.Duration(n) * day, nil
	}
	if weeks, ok := strings.CutSuffix(text, "w"); ok && isDigits(weeks) {
		return 0, fmt.Errorf("%w: a week is 7d", errDuration)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errDuration
	}
	return d, nil
}

// FormatDuration returns a duration as policies write it: 1m30s, or whole days such as 30d.
func FormatDuration(d time.Duration) string {
	if d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	text := d.String()
	for _, zero := range []struct{ end, short string }{{"m0s", "m"}, {"h0m", "h"}} {
		if strings.HasSuffix(text, zero.end) {
			text = strings.TrimSuffix(text, zero.end) + zero.short
		}
	}
	return text
}

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

// checkRate checks the short form of a limit and its window.
func checkRate(s string) string {
	_, _, message := parseRate(s)
	return message
}

// parseRate reads LIMIT/WINDOW, such as 10/1m.
func parseRate(s string) (limit int64, window time.Duration, message string) {
	number, span, _ := strings.Cut(s, "/")
	limit, err := strconv.ParseInt(number, 10, 64)
	window, wrong := ParseDuration(span)
	switch {
	case err == nil && isDigits(number) && (span == "s" || span == "m" || span == "h" || span == "d"):
		return 0, 0, "must be LIMIT/WINDOW, as in " + number + "/1" + span
	case err != nil || !isDigits(number) || wrong != nil:
		return 0, 0, "must be LIMIT/WINDOW, such as 10/1m"
	}
	return limit, window, ""
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
