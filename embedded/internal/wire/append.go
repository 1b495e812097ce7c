package wire

import (
	"strconv"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// Append adds v as RESP2 to b.
func Append(b []byte, v reply.Value) []byte {
	switch v.Kind {
	case reply.Nil:
		return append(b, "$-1\r\n"...)
	case reply.NilArray:
		return append(b, "*-1\r\n"...)
	case reply.Int:
		return header(b, ':', v.Int)
	case reply.Bulk:
		b = header(b, '$', int64(len(v.Str)))
		b = append(b, v.Str...)
		return append(b, '\r', '\n')
	case reply.Status:
		return line(append(b, '+'), v.Str)
	case reply.Error:
		return line(append(b, '-'), v.Str)
	case reply.Array:
		b = header(b, '*', int64(len(v.Array)))
		for _, element := range v.Array {
			b = Append(b, element)
		}
	}
	return b
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
