package bundle

import (
	"fmt"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// Must describes a valid value: "be a whole number from 1 to 10".
func Must(p spec.Field) string {
	switch p.Kind {
	case spec.KindFloat:
		if p.Min == spec.NoMin && p.Max == spec.NoMax {
			return "be a finite number"
		}
		return "be a number " + FloatBounds(p)
	case spec.KindCount, spec.KindInt:
		return fmt.Sprintf("be a whole number from %d to %d", p.Min, p.Max)
	case spec.KindMicros:
		return fmt.Sprintf("be from %d to %d micros", p.Min, p.Max)
	case spec.KindDuration:
		return fmt.Sprintf("be from %d to %d microseconds", p.Min, p.Max)
	case spec.KindTime:
		return fmt.Sprintf("be from %d to %d microseconds since 1970", p.Min, p.Max)
	case spec.KindBool:
		return "be 1 or 0"
	case spec.KindText:
		return fmt.Sprintf("be %d to %d bytes", p.Min, p.Max)
	case spec.KindEnum:
		return "be one of " + strings.Join(p.Values, ", ")
	case spec.KindGroup:
		return fmt.Sprintf("have %d to %d rows", p.Min, p.Max)
	}
	return "be a key"
}

// FloatBounds describes the bounds of a float.
func FloatBounds(p spec.Field) string {
	switch {
	case p.Min == spec.NoMin && p.Max == spec.NoMax:
		return "any finite number"
	case p.Min == spec.NoMin:
		return fmt.Sprintf("at most %d", p.Max)
	case p.Max == spec.NoMax:
		return fmt.Sprintf("at least %d", p.Min)
	}
	return fmt.Sprintf("from %d to %d", p.Min, p.Max)
}

// quote writes a Lua string literal of printable ASCII; anything else is escaped by its decimal code.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, c := range []byte(s) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 32 || c > 126:
			fmt.Fprintf(&b, "\\%03d", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
