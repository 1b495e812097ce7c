package fcall

import (
	"fmt"
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

// Must rejects a call, or a row of a pack, that breaks a rule of the header: what name says must be otherwise.
func (a *Args) Must(name, must string) { a.addError(name, must, "") }

// MustRow rejects a row of a group that breaks a rule of the header.
func (a *Args) MustRow(group string, row int, name, must string) {
	a.group, a.row = group, row
	a.addError(name, must, "")
	a.group = ""
}

// Differ rejects a call of whose rows two are alike.
func (a *Args) Differ(name, must string, rows int, alike func(i, j int) bool) {
	for i := range rows {
		for j := range i {
			if alike(i, j) {
				a.addError(name, must, "")
				return
			}
		}
	}
}

// Or returns what a pointer leads to, or the default if it is nil.
func Or[T any](v *T, absent T) T {
	if v == nil {
		return absent
	}
	return *v
}
