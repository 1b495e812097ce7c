package wire

import (
	"strconv"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// Append adds v as RESP2 to b, or as RESP3 if protocol is 3.
func Append(b []byte, v reply.Value, protocol int) []byte {
	switch v.Kind {
	case reply.Int:
		return header(b, ':', v.Int)
	case reply.Bulk:
		return text(b, '$', v.Str)
	case reply.Status:
		return line(append(b, '+'), v.Str)
	case reply.Error:
		return line(append(b, '-'), v.Str)
	case reply.Array:
		return elements(b, '*', len(v.Array), v.Array, protocol)
	case reply.Raw:
		return append(b, v.Str...)
	}
	if protocol == 3 {
		return append3(b, v.RESP3())
	}
	switch v.Kind {
	case reply.Nil:
		return append(b, "$-1\r\n"...)
	case reply.NilArray:
		return append(b, "*-1\r\n"...)
	}
	return Append(b, v.RESP2(), protocol)
}

// append3 adds what RESP3 alone has.
func append3(b []byte, v reply.Value) []byte {
	switch v.Kind {
	case reply.Nil, reply.NilArray:
		return append(b, "_\r\n"...)
	case reply.Double:
		return line(append(b, ','), v.Str)
	case reply.Big:
		return line(append(b, '('), v.Str)
	case reply.Bool:
		return append(b, '#', "ft"[v.Int&1], '\r', '\n')
	case reply.Verbatim:
		return text(b, '=', v.Str)
	case reply.Map:
		return elements(b, '%', len(v.Array)/2, v.Array, 3)
	case reply.Set:
		return elements(b, '~', len(v.Array), v.Array, 3)
	}
	return Append(b, v, 3)
}

func elements(b []byte, kind byte, n int, values []reply.Value, protocol int) []byte {
	b = header(b, kind, int64(n))
	for i := range values {
		b = Append(b, values[i], protocol)
	}
	return b
}

func text(b []byte, kind byte, s string) []byte {
	b = header(b, kind, int64(len(s)))
	b = append(b, s...)
	return append(b, '\r', '\n')
}

func header(b []byte, kind byte, n int64) []byte {
	b = strconv.AppendInt(append(b, kind), n, 10)
	return append(b, '\r', '\n')
}

// line adds text that must not break the line: its line ends become blanks.
func line(b []byte, text string) []byte {
	for i := range len(text) {
		c := text[i]
		if c == '\r' || c == '\n' {
			c = ' '
		}
		b = append(b, c)
	}
	return append(b, '\r', '\n')
}
