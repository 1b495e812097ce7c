package command

import (
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
)

var (
	okay     = resp.OK
	queued   = resp.Simple("QUEUED")
	null     = resp.Null
	nilArray = resp.NullArray
	zero     = resp.Integer(0)
	one      = resp.Integer(1)
	none     = resp.List()

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

func failure(text string) resp.Value { return resp.Err(text) }

func bulk(s string) resp.Value { return resp.Text(s) }

func status(s string) resp.Value { return resp.Simple(s) }

func integer(n int64) resp.Value { return resp.Integer(n) }

func number(n int) resp.Value { return integer(int64(n)) }

func double(f float64) resp.Value { return resp.Value{Kind: resp.Double, Str: formatFloat(f)} }

func dictionary(values ...resp.Value) resp.Value { return resp.Of(resp.Map, values...) }

func unordered(values []resp.Value) resp.Value { return resp.Of(resp.Set, values...) }

// elements are names, or with paired set names and values in turn, which RESP3 has two and two.
func elements(values []resp.Value, paired bool) resp.Value {
	if paired {
		return resp.Of(resp.Pairs, values...)
	}
	return array(values)
}

// document is a text for people, which RESP3 marks as such.
func document(s string) resp.Value { return resp.Value{Kind: resp.Verbatim, Str: "txt:" + s} }

func array(values []resp.Value) resp.Value {
	return resp.Value{Kind: resp.Array, Array: values}
}

func truth(b bool) resp.Value {
	if b {
		return one
	}
	return zero
}

func wrongArity(name string) resp.Value {
	return failure("ERR wrong number of arguments for '" + name + "' command")
}

func badExpire(name string) resp.Value {
	return failure("ERR invalid expire time in '" + lower(name) + "' command")
}

// absent is what Redis's replies do not say: a command may be missing only here.
func absent(name []string) string {
	return " (the embedded engine has no '" + clip(strings.Join(name, " ")) + "', see docs/reference/embedded.md)"
}

func unknown(args []string) resp.Value {
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
