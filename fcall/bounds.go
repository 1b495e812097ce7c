package fcall

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The texts behind "must": what an argument must be.

func mustInt(least, most int64) string {
	return fmt.Sprintf("be a whole number from %d to %d", least, most)
}

func mustDuration(least, most int64) string {
	return fmt.Sprintf("be a duration from %s to %s", microsText(least), microsText(most))
}

func mustTime(least, most int64) string {
	return fmt.Sprintf("be a time from %s to %s", timeText(least), timeText(most))
}

func mustText(least, most int64) string {
	return fmt.Sprintf("be text of %d to %d bytes", least, most)
}

func mustRows(least, most int64) string {
	return fmt.Sprintf("have %d to %d rows", least, most)
}

func mustEnum(values []string) string { return "be one of " + strings.Join(values, ", ") }

// microsText falls back to the number where a time.Duration would overflow.
func microsText(us int64) string {
	if d, ok := duration(us); ok {
		return d.String()
	}
	return strconv.FormatInt(us, 10) + "µs"
}

func timeText(us int64) string { return time.UnixMicro(us).UTC().Format(time.RFC3339Nano) }

// duration is false where us microseconds overflow a time.Duration.
func duration(us int64) (time.Duration, bool) {
	d := time.Duration(us) * time.Microsecond
	return d, int64(d/time.Microsecond) == us
}

// quote shows at most 32 bytes of what a caller gave, on one line.
func quote(s string) string {
	const most = 32
	if len(s) <= most {
		return strconv.QuoteToASCII(s)
	}
	return strconv.QuoteToASCII(s[:most]) + fmt.Sprintf("... (%d bytes)", len(s))
}
