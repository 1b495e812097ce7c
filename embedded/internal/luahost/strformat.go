package luahost

import (
	"math"
	"strconv"
	"strings"
)

// directive is one %-item of string.format.
type directive struct {
	flags     string // of "-+ #0"
	width     int
	precision int // -1 if there is none
	verb      byte
}

func (d directive) has(flag byte) bool { return strings.IndexByte(d.flags, flag) >= 0 }

func (l *Library) stringFormat(c call) int {
	format := c.text(1)
	var out strings.Builder
	arg := 1
	for i := 0; i < len(format); {
		ch := format[i]
		i++
		if ch != '%' {
			out.WriteByte(ch)
			continue
		}
		if i < len(format) && format[i] == '%' {
			out.WriteByte('%')
			i++
			continue
		}
		if arg++; arg > c.GetTop() {
			c.badArgument(arg, "no value")
		}
		var d directive
		d, i = parseDirective(c, format, i)
		before := out.Len()
		d.write(c, &out, arg)
		if l.observer != nil && strings.IndexByte("diueEfgG", d.verb) >= 0 {
			l.lossy(c.LState, c.number(arg), out.String()[before:], d.verb == 'd' || d.verb == 'i' || d.verb == 'u')
		}
	}
	return c.oneText(out.String())
}

func parseDirective(c call, format string, i int) (directive, int) {
	d := directive{precision: -1}
	start := i
	for i < len(format) && strings.IndexByte("-+ #0", format[i]) >= 0 {
		i++
	}
	if d.flags = format[start:i]; len(d.flags) > 5 {
		c.fail("invalid format (repeated flags)")
	}
	number := func() int {
		n := min(digits(format[i:]), 2)
		v := 0
		for _, c := range []byte(format[i : i+n]) {
			v = v*10 + int(c-'0')
		}
		i += n
		return v
	}
	d.width = number()
	if i < len(format) && format[i] == '.' {
		i++
		d.precision = number()
	}
	if i < len(format) && isDigit(format[i]) {
		c.fail("invalid format (width or precision too long)")
	}
	if i < len(format) {
		d.verb = format[i]
		i++
	}
	return d, i
}

// write formats argument arg.
func (d directive) write(c call, out *strings.Builder, arg int) {
	switch d.verb {
	case 'c':
		n := c.int64(arg)
		if n != int64(int32(n)) {
			n = 0 // what is left of such a number in C on x86-64
		}
		out.WriteString(cString(d.pad("", string([]byte{byte(n)}), false)))
	case 'd', 'i':
		n := toInteger(c.number(arg))
		out.WriteString(d.integer(n < 0, strconv.FormatUint(magnitude(n), 10)))
	case 'o', 'u', 'x', 'X':
		out.WriteString(d.unsigned(toUnsigned(c.number(arg))))
	case 'e', 'E', 'f', 'g', 'G':
		out.WriteString(d.float(c.number(arg)))
	case 'q':
		quote(out, c.text(arg))
	case 's':
		s := c.text(arg)
		if d.precision < 0 && len(s) >= 100 {
			out.WriteString(s)
			return
		}
		s = cString(s)
		if d.precision >= 0 && d.precision < len(s) {
			s = s[:d.precision]
		}
		out.WriteString(d.pad("", s, false))
	default:
		verb := ""
		if d.verb != 0 {
			verb = string([]byte{d.verb})
		}
		c.fail("invalid option '%%%s' to 'format'", verb)
	}
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// toUnsigned is C's conversion on x86-64, as Lua does it for %u and %x.
func toUnsigned(n float64) uint64 {
	if n < 0 || math.IsNaN(n) {
		return uint64(toInteger(n))
	}
	if n < 1<<63 {
		return uint64(n)
	}
	if n < 1<<64 {
		return uint64(n-1<<63) + 1<<63
	}
	return 0
}

// pad fills up to the width; zeros go between the sign and the digits.
func (d directive) pad(sign, body string, zeros bool) string {
	fill := d.width - len(sign) - len(body)
	switch {
	case fill <= 0:
		return sign + body
	case d.has('-'):
		return sign + body + strings.Repeat(" ", fill)
	case zeros && d.has('0'):
		return sign + strings.Repeat("0", fill) + body
	}
	return strings.Repeat(" ", fill) + sign + body
}

func (d directive) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case d.has('+'):
		return "+"
	case d.has(' '):
		return " "
	}
	return ""
}

func (d directive) integer(negative bool, body string) string {
	return d.pad(d.sign(negative), d.minDigits(body), d.precision < 0)
}

func (d directive) minDigits(body string) string {
	if d.precision == 0 && body == "0" {
		return ""
	}
	if n := d.precision - len(body); n > 0 {
		return strings.Repeat("0", n) + body
	}
	return body
}

func (d directive) unsigned(n uint64) string {
	base := map[byte]int{'o': 8, 'u': 10, 'x': 16, 'X': 16}[d.verb]
	body := d.minDigits(strconv.FormatUint(n, base))
	prefix := ""
	if d.has('#') {
		switch {
		case d.verb == 'o' && !strings.HasPrefix(body, "0"):
			body = "0" + body
		case base == 16 && n != 0:
			prefix = "0x"
		}
	}
	s := d.pad(prefix, body, d.precision < 0)
	if d.verb == 'X' {
		s = upper(s)
	}
	return s
}

func (d directive) float(n float64) string {
	sign := d.sign(math.Signbit(n))
	special := math.IsNaN(n) || math.IsInf(n, 0)
	n = math.Abs(n)
	precision := d.precision
	if precision < 0 {
		precision = 6
	}
	var body string
	switch {
	case special && math.IsNaN(n):
		body = "nan"
	case special:
		body = "inf"
	case d.verb|0x20 == 'g':
		body = formatG(n, precision, d.has('#'))
	case d.verb == 'f':
		body = strconv.FormatFloat(n, 'f', precision, 64)
	default:
		body = strconv.FormatFloat(n, 'e', precision, 64)
	}
	if d.has('#') && precision == 0 && !special && strings.IndexByte(body, '.') < 0 {
		mark := len(body)
		if i := strings.IndexByte(body, 'e'); i >= 0 {
			mark = i
		}
		body = body[:mark] + "." + body[mark:]
	}
	s := d.pad(sign, body, !special)
	if 'A' <= d.verb && d.verb <= 'Z' {
		s = upper(s)
	}
	return s
}

// quote writes s as Lua reads it back.
func quote(out *strings.Builder, s string) {
	out.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\\', '\n':
			out.WriteByte('\\')
			out.WriteByte(c)
		case '\r':
			out.WriteString(`\r`)
		case 0:
			out.WriteString(`\000`)
		default:
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
}
