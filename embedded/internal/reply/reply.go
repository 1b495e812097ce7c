// Package reply holds what a Redis command answers, as a value that the
// command table, the Lua host and the wire share.
//
// The shapes are those of RESP2: there are no doubles, maps or booleans.
package reply

// Kind says which field of a [Value] carries the answer.
type Kind uint8

// The kinds of RESP2.
const (
	Nil      Kind = iota // null bulk string, "$-1"
	NilArray             // null array, "*-1"
	Int                  // Value.Int
	Bulk                 // Value.Str, any bytes
	Status               // Value.Str, such as "OK", without CR and LF
	Error                // Value.Str, "CODE text", without the leading "-", CR and LF
	Array                // Value.Array
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

// IsError reports whether v itself is an error reply; an array that holds one is not.
func (v Value) IsError() bool { return v.Kind == Error }
