package fcall

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Texts that follow "must" in an error.

func mustInt(minimum, maximum int64) string {
	return fmt.Sprintf("be a whole number from %d to %d", minimum, maximum)
}

func mustFloat(minimum, maximum int64) string {
	switch {
	case minimum == NoMin && maximum == NoMax:
		return "be a finite number"
	case minimum == NoMin:
		return fmt.Sprintf("be a number at most %d", maximum)
	case maximum == NoMax:
		return fmt.Sprintf("be a number at least %d", minimum)
	}
	return fmt.Sprintf("be a number from %d to %d", minimum, maximum)
}

func mustDuration(minimum, maximum int64) string {
	return fmt.Sprintf("be a duration from %s to %s", microsText(minimum), microsText(maximum))
}

func mustTime(minimum, maximum int64) string {
	return fmt.Sprintf("be a time from %s to %s", timeText(minimum), timeText(maximum))
}

func mustText(minimum, maximum int64) string {
	return fmt.Sprintf("be text of %d to %d bytes", minimum, maximum)
}

func mustRows(minimum, maximum int64) string {
	return fmt.Sprintf("have %d to %d rows", minimum, maximum)
}

func mustEnum(values []string) string { return "be one of " + strings.Join(values, ", ") }

// microsText formats a duration, or the number of microseconds if a time.Duration would overflow.
func microsText(us int64) string {
	if d, ok := duration(us); ok {
		return d.String()
	}
	return strconv.FormatInt(us, 10) + "µs"
}

func timeText(us int64) string { return time.UnixMicro(us).UTC().Format(time.RFC3339Nano) }

// duration reports false if us microseconds overflow a time.Duration.
func duration(us int64) (time.Duration, bool) {
	d := time.Duration(us) * time.Microsecond
	return d, int64(d/time.Microsecond) == us
}

// quote quotes at most 32 bytes of a caller's value, on one line.
func quote(s string) string {
	const maximum = 32
	if len(s) <= maximum {
		return strconv.QuoteToASCII(s)
	}
	return strconv.QuoteToASCII(s[:maximum]) + fmt.Sprintf("... (%d bytes)", len(s))
}

// MaxInt is the largest integer in calls and replies, 2^53: a Lua number holds every integer up to it exactly.
const MaxInt = 1 << 53

// Micros are millionths of any currency.
type Micros int64

// String returns the amount with six decimals, "1.250000".
func (m Micros) String() string {
	u := uint64(m)
	sign := ""
	if m < 0 {
		sign, u = "-", -u
	}
	frac := strconv.FormatUint(1_000_000+u%1_000_000, 10)
	return sign + strconv.FormatUint(u/1_000_000, 10) + "." + frac[1:]
}

// NoMin and NoMax are the bounds of a float that has none.
const (
	NoMin = math.MinInt64
	NoMax = math.MaxInt64
)
