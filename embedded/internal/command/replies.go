package command

import (
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

var (
	okay     = reply.OK
	queued   = reply.Simple("QUEUED")
	null     = reply.Null
	nilArray = reply.NullArray
	zero     = reply.Integer(0)
	one      = reply.Integer(1)
	none     = reply.List()

	errWrongType   = failure("WRONGTYPE Operation against a key holding the wrong kind of value")
	errSyntax      = failure("ERR syntax error")
	errNotInt      = failure("ERR value is not an integer or out of range")
	errNotFloat    = failure("ERR value is not a valid float")
	errNoKey       = failure("ERR no such key")
	errIndex       = failure("ERR index out of range")
	errUnnegatable = failure("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807")
	errPositive    = failure("ERR value is out of range, must be positive")
	errMinMax      = failure("ERR min or max is not a float")
	errLex         = failure("ERR min or max not valid string range item")
)

func failure(text string) reply.Value { return reply.Err(text) }

func bulk(s string) reply.Value { return reply.Text(s) }

func status(s string) reply.Value { return reply.Simple(s) }

func integer(n int64) reply.Value { return reply.Integer(n) }

func number(n int) reply.Value { return integer(int64(n)) }

func double(f float64) reply.Value { return reply.Value{Kind: reply.Double, Str: formatFloat(f)} }

func maps(values ...reply.Value) reply.Value { return reply.Of(reply.Map, values...) }

func unordered(values []reply.Value) reply.Value { return reply.Of(reply.Set, values...) }

// elements are names, or with paired set names and values in turn, which RESP3 has two and two.
func elements(values []reply.Value, paired bool) reply.Value {
	if paired {
		return reply.Of(reply.Pairs, values...)
	}
	return array(values)
}

// document is a text for people, which RESP3 marks as such.
func document(s string) reply.Value { return reply.Value{Kind: reply.Verbatim, Str: "txt:" + s} }

func array(values []reply.Value) reply.Value {
	return reply.Value{Kind: reply.Array, Array: values}
}

func truth(b bool) reply.Value {
	if b {
		return one
	}
	return zero
}

func wrongArity(name string) reply.Value {
	return failure("ERR wrong number of arguments for '" + name + "' command")
}

func badExpire(name string) reply.Value {
	return failure("ERR invalid expire time in '" + lower(name) + "' command")
}

// absent is what Redis's replies do not say: a command may be missing only here.
func absent(name []string) string {
	return " (the embedded engine has no '" + clip(strings.Join(name, " ")) + "', see docs/embedded.md)"
}

func unknown(args []string) reply.Value {
	var b strings.Builder
	b.WriteString("ERR unknown command '" + clip(args[0]) + "'" + absent(args[:1]) + ", with args beginning with: ")
	start := b.Len()
	for _, a := range args[1:] {
		if b.Len()-start >= 128 {
			break
		}
		b.WriteString("'" + clip(a) + "' ")
	}
	return failure(b.String())
}

// cText is what C prints of a text: it ends before a NUL.
func cText(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}

func clip(s string) string { return cText(s[:min(len(s), 128)]) }
