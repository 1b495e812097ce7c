package clients

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// Optional reports whether a call may leave out a field's parameter.
func Optional(f spec.Field) bool {
	return f.Optional || f.Min == 0 && (f.Kind == spec.KindGroup || f.Several)
}

// Sentence returns a field's doc as a sentence.
func Sentence(f spec.Field) string {
	return strings.ToUpper(f.Doc[:1]) + strings.TrimSuffix(f.Doc[1:], ".") + "."
}

// ArgDoc returns the doc of a parameter, with its bounds and the meaning of omitting it. none is the language's word for that.
func ArgDoc(none string, f spec.Field) string {
	text := Sentence(f)
	if b := Bounds(f); b != "" {
		text += " " + strings.ToUpper(b[:1]) + b[1:] + "."
	}
	value, given := Default(f)
	switch {
	case given:
		text += " Defaults to " + value + "."
	case f.Optional && f.Kind == spec.KindBool:
		text += " Defaults to false."
	case f.Optional && f.Kind != spec.KindKey:
		text += " " + none + " omits it."
	}
	return text
}

// Default returns what an argument is that a call omits, as the doc shows it.
func Default(f spec.Field) (value string, given bool) {
	value, given = f.DefaultWord()
	switch {
	case f.Kind.Integer() && f.Default != nil:
		value = number(f, *f.Default)
	case f.Kind == spec.KindText:
		value = strconv.Quote(value)
	}
	return value, given
}

// Bounds describes the bounds of an argument, empty if it has none.
func Bounds(f spec.Field) string {
	switch {
	case f.Several:
		return fmt.Sprintf("at most %d, each a subject", f.Max)
	case f.Kind == spec.KindText:
		return fmt.Sprintf("%d to %d bytes", f.Min, f.Max)
	case f.Kind == spec.KindGroup:
		return fmt.Sprintf("%d to %d rows", f.Min, f.Max)
	case f.Kind == spec.KindFloat:
		return floatBounds(f)
	case f.Kind.Integer():
		return fmt.Sprintf("from %s to %s", number(f, f.Min), number(f, f.Max))
	}
	return ""
}

func floatBounds(f spec.Field) string {
	switch {
	case f.Min == spec.NoMin && f.Max == spec.NoMax:
		return "any finite number"
	case f.Min == spec.NoMin:
		return fmt.Sprintf("at most %d", f.Max)
	case f.Max == spec.NoMax:
		return fmt.Sprintf("at least %d", f.Min)
	}
	return fmt.Sprintf("from %d to %d", f.Min, f.Max)
}

// number formats a bound.
func number(f spec.Field, n int64) string {
	const day = 24 * 3600 * 1_000_000
	switch {
	case f.Kind == spec.KindTime && n == spec.MaxInt:
		return "the year 2255"
	case f.Kind == spec.KindTime:
		return time.UnixMicro(n).UTC().Format(time.RFC3339)
	case f.Kind != spec.KindDuration:
		return plain(n)
	case n == day:
		return "1 day"
	case n > day && n%day == 0:
		return fmt.Sprintf("%d days", n/day)
	}
	return (time.Duration(n) * time.Microsecond).String()
}

// plain formats a whole number; a large power is easier to read as one.
func plain(n int64) string {
	if n == spec.MaxInt {
		return "2^53"
	}
	text := strconv.FormatInt(n, 10)
	if zeros := len(text) - 1; n >= 1_000_000 && strings.Trim(text, "0") == "1" {
		return fmt.Sprintf("10^%d", zeros)
	}
	return text
}

// Wrap breaks a text into lines of at most width bytes. A line that is indented goes on with four blanks more.
func Wrap(text string, width int) (lines []string) {
	for _, p := range strings.Split(text, "\n") {
		line := p[:len(p)-len(strings.TrimLeft(p, " "))]
		next := line
		if line != "" {
			next += "    "
		}
		empty := true
		for _, word := range strings.Fields(p) {
			switch {
			case empty:
				line += word
			case len(line)+1+len(word) > width:
				lines, line = append(lines, line), next+word
			default:
				line += " " + word
			}
			empty = false
		}
		lines = append(lines, line)
	}
	return lines
}

// Join returns a list of expressions, broken into lines that begin with indent blanks.
func Join(items []string, indent int) string {
	var b strings.Builder
	column := indent
	for i, item := range items {
		switch {
		case i > 0 && column+2+len(item) > 118:
			b.WriteString(",\n" + strings.Repeat(" ", indent))
			column = indent
		case i > 0:
			b.WriteString(", ")
			column += 2
		}
		b.WriteString(item)
		column += len(item)
	}
	return b.String()
}

// Quoted returns words as literals.
func Quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strconv.QuoteToASCII(w)
	}
	return strings.Join(out, ", ")
}
