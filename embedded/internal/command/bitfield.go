package command

import (
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// A fieldOp is one operation of BITFIELD: on the field of the given type at bit at.
type fieldOp struct {
	verb     string // get, set or incrby
	signed   bool
	bits     int
	at       int64
	value    int64
	overflow string // wrap, sat or fail
}

// bitfield is BITFIELD and BITFIELD_RO.
func bitfield(c *Call) reply.Value {
	ops, problem := parseBitfield(c.Args[2:])
	if problem.Kind == reply.Error {
		return problem
	}
	size := 0 // that the string needs for what is written
	for _, op := range ops {
		if op.verb != "get" {
			size = max(size, int((op.at+int64(op.bits)-1)>>3)+1)
		}
	}
	if size > 0 && is(c.Args[0], "bitfield_ro") {
		return failure("ERR BITFIELD_RO only supports the GET subcommand")
	}
	text, expire, fits := c.text(c.Args[1])
	if !fits {
		return errWrongType
	}
	values := make([]reply.Value, len(ops))
	if size == 0 {
		for i, op := range ops {
			values[i] = integer(readField(op, text))
		}
		return array(values)
	}
	b := make([]byte, max(size, len(text)))
	copy(b, text)
	for i, op := range ops {
		values[i] = op.do(b)
	}
	c.DB.SetString(c.Args[1], string(b), expire)
	return array(values)
}

func parseBitfield(words []string) (ops []fieldOp, problem reply.Value) {
	overflow := "wrap"
	for len(words) > 0 {
		verb, n := lower(words[0]), len(words)
		switch {
		case verb == "overflow" && n > 1:
			overflow = lower(words[1])
			if overflow != "wrap" && overflow != "sat" && overflow != "fail" {
				return nil, failure("ERR Invalid OVERFLOW type specified")
			}
			words = words[2:]
			continue
		case verb == "get" && n > 2, (verb == "set" || verb == "incrby") && n > 3:
		default:
			return nil, errSyntax
		}
		op := fieldOp{verb: verb, overflow: overflow}
		var valid bool
		if op.signed, op.bits, valid = fieldType(words[1]); !valid {
			return nil, failure("ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.")
		}
		at, counted := strings.CutPrefix(words[2], "#")
		if op.at, valid = parseInt(at); counted {
			op.at *= int64(op.bits)
		}
		if !valid || op.at < 0 || op.at>>3 >= maxString {
			return nil, errBitOffset
		}
		words = words[3:]
		if verb != "get" {
			if op.value, valid = parseInt(words[0]); !valid {
				return nil, errNotInt
			}
			words = words[1:]
		}
		ops = append(ops, op)
	}
	return ops, okay
}

// fieldType reads i1 to i64 and u1 to u63.
func fieldType(s string) (signed bool, bits int, valid bool) {
	if s == "" || s[0] != 'i' && s[0] != 'u' {
		return false, 0, false
	}
	signed = s[0] == 'i'
	n, valid := parseInt(s[1:])
	return signed, int(n), valid && n >= 1 && (n <= 63 || n == 64 && signed)
}

// readField reads what is behind the end of text as zeros.
func readField[T string | []byte](op fieldOp, text T) int64 {
	var n uint64
	for i := op.at; i < op.at+int64(op.bits); i++ {
		n <<= 1
		if i>>3 < int64(len(text)) {
			n |= uint64(text[i>>3]>>(7-i&7)) & 1
		}
	}
	return op.wrap(int64(n))
}

// wrap keeps the bits of n that the field has.
func (op fieldOp) wrap(n int64) int64 {
	unused := 64 - op.bits
	if op.signed {
		return n << unused >> unused
	}
	return int64(uint64(n) << unused >> unused)
}

// do runs the operation on b, which has room for it.
func (op fieldOp) do(b []byte) reply.Value {
	old := readField(op, b)
	answer := old
	var next int64
	switch op.verb {
	case "get":
		return integer(old)
	case "set":
		next = op.value
	default:
		next = old + op.value // may be beyond 64 bits
	}
	lowest, highest := int64(0), int64(uint64(1)<<op.bits-1)
	if op.signed {
		lowest, highest = -1<<(op.bits-1), int64(uint64(1)<<(op.bits-1)-1)
	}
	above, below := next > highest, next < lowest
	switch {
	case op.verb == "incrby" && op.value > 0 && next < old:
		above, below = true, false
	case op.verb == "incrby" && op.value < 0 && next > old:
		above, below = false, true
	case op.verb == "set" && below && !op.signed: // Redis reads a negative number as a large one
		above, below = true, false
	}
	switch {
	case !above && !below:
	case op.overflow == "fail":
		return null
	case op.overflow == "wrap":
		next = op.wrap(next)
	case above:
		next = highest
	default:
		next = lowest
	}
	if op.verb == "incrby" {
		answer = next
	}
	for i := range int64(op.bits) {
		at := op.at + i
		mask := byte(1) << (7 - at&7)
		if b[at>>3] &^= mask; next>>(int64(op.bits)-1-i)&1 != 0 {
			b[at>>3] |= mask
		}
	}
	return integer(answer)
}
