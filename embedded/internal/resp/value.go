// Package resp is the protocol of Redis: what a command answers, as a value that the command table and the Lua host share, commands read off
// a connection, replies written to it in RESP2 and RESP3, and connections in memory.
//
// The shapes of a [Value] are those of RESP3. [Value.RESP2] is what an older client gets.
package resp

import (
	"math"
	"strconv"
	"strings"
)

// Kind says which field of a [Value] carries the answer.
type Kind uint8

// The kinds. Those up to Array are the shapes of RESP2.
const (
	Nil      Kind = iota // null bulk string, "$-1"
	NilArray             // null array, "*-1"
	Int                  // Value.Int
	Bulk                 // Value.Str, any bytes
	Status               // Value.Str, such as "OK", without CR and LF
	Error                // Value.Str, "CODE text", without the leading "-", CR and LF
	Array                // Value.Array

	Double    // Value.Str, the number as text; RESP2: Bulk
	Big       // Value.Str, digits; RESP2: Bulk
	Verbatim  // Value.Str, three letters of format, a colon and the text; RESP2: Bulk of the text
	Map       // Value.Array, key and value in turn; RESP2: Array
	Set       // Value.Array; RESP2: Array
	Pairs     // Value.Array, two and two; RESP3: an array of arrays, RESP2: one flat Array
	NestedMap // Value.Array, two and two; RESP3: a map, RESP2: an Array of arrays
)

// Value is one reply. The zero Value is the null bulk string.
//
// A Value is plain data: it may be copied, and the code that makes one no longer
// writes to its Array once it is handed on.
type Value struct {
	Kind  Kind
	Int   int64
	Str   string
	Array []Value
}

// The replies that carry no data of their own.
var (
	Null      = Value{Kind: Nil}
	NullArray = Value{Kind: NilArray}
	OK        = Value{Kind: Status, Str: "OK"}
)

// Integer is an integer reply.
func Integer(n int64) Value { return Value{Kind: Int, Int: n} }

// Text is a bulk string reply of any bytes.
func Text(s string) Value { return Value{Kind: Bulk, Str: s} }

// Simple is a status reply, such as "OK" or "QUEUED".
func Simple(s string) Value { return Value{Kind: Status, Str: s} }

// Err is an error reply. The text begins with its code in capitals, such as
// "WRONGTYPE Operation against a key holding the wrong kind of value".
func Err(text string) Value { return Value{Kind: Error, Str: text} }

// List is an array reply. List() is the empty array, not the null one.
func List(vals ...Value) Value { return Value{Kind: Array, Array: vals} }

// Of is a reply of several values, of one of the kinds that have an Array.
func Of(kind Kind, vals ...Value) Value { return Value{Kind: kind, Array: vals} }

// IsError reports whether v itself is an error reply; an array that holds one is not.
func (v Value) IsError() bool { return v.Kind == Error }

// RESP2 returns v in the shapes that RESP2 has. It does not convert the elements of an Array.
func (v Value) RESP2() Value {
	switch v.Kind {
	case Double, Big:
		return Text(v.Str)
	case Verbatim:
		return Text(v.Str[len("txt:"):])
	case Map, Set, Pairs:
		return Of(Array, v.Array...)
	case NestedMap:
		return nest(v)
	}
	return v
}

// RESP3 returns v as one of the kinds that RESP3 has, which are all but Pairs and NestedMap.
func (v Value) RESP3() Value {
	switch v.Kind {
	case Pairs:
		return nest(v)
	case NestedMap:
		return Of(Map, v.Array...)
	}
	return v
}

// nest makes an array of arrays of two.
func nest(v Value) Value {
	pairs := make([]Value, len(v.Array)/2)
	for i := range pairs {
		pairs[i] = List(v.Array[2*i : 2*i+2]...)
	}
	return List(pairs...)
}

// FormatFloat prints a finite number as Redis does from 7.2 on: a whole one as such, another by the shortest digits that read back as
// the same double.
func FormatFloat(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) <= 1<<62 {
		return strconv.FormatInt(int64(f), 10)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	digits := len(strings.Trim(strings.Replace(mantissa, ".", "", 1), "-"))
	first, _ := strconv.Atoi(exponent)
	last := first - digits + 1 // the power of ten of the last digit
	size := max(first, -first)
	if last >= 0 && size < digits+7 || last < 0 && (last > -7 || size < 4) {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	sign := "+"
	if first < 0 {
		sign = "-"
	}
	return mantissa + "e" + sign + strconv.Itoa(size)
}
