package command

import (
	"math/bits"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var (
	errBitOffset = failure("ERR bit offset is not an integer or out of range")
	errBit       = failure("ERR bit is not an integer or out of range")
)

var bitCommands = []Command{
	{Name: "setbit", Arity: 4, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: setbit},
	{Name: "getbit", Arity: 3, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Run: getbit},
	{Name: "bitcount", Arity: -2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: bitcount},
	{Name: "bitpos", Arity: -3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: bitpos},
	{Name: "bitop", Arity: -4, Flags: Write | DenyOOM, First: 2, Last: -1, Step: 1, Run: bitop},
	{Name: "bitfield", Arity: -2, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: bitfield},
	{Name: "bitfield_ro", Arity: -2, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Run: bitfield},
}

func bitOffset(s string) (int64, bool) {
	n, valid := parseInt(s)
	return n, valid && n >= 0 && n>>3 < maxString
}

func bitAt(text string, at int64) int {
	if at>>3 >= int64(len(text)) {
		return 0
	}
	return int(text[at>>3]>>(7-at&7)) & 1
}

func getbit(c *Call) reply.Value {
	at, valid := bitOffset(c.Args[2])
	if !valid {
		return errBitOffset
	}
	text, _, fits := c.text(c.Args[1])
	if !fits {
		return errWrongType
	}
	return number(bitAt(text, at))
}

func setbit(c *Call) reply.Value {
	at, valid := bitOffset(c.Args[2])
	if !valid {
		return errBitOffset
	}
	if c.Args[3] != "0" && c.Args[3] != "1" {
		return errBit
	}
	text, expire, fits := c.text(c.Args[1])
	if !fits {
		return errWrongType
	}
	old := bitAt(text, at)
	var b byte
	if at>>3 < int64(len(text)) {
		b = text[at>>3]
	}
	mask := byte(1) << (7 - at&7)
	if b &^= mask; c.Args[3] == "1" {
		b |= mask
	}
	c.DB.SetString(c.Args[1], overwrite(text, int(at>>3), string([]byte{b})), expire)
	return number(old)
}

func bitcount(c *Call) reply.Value {
	words := c.Args[2:]
	if len(words) == 1 || len(words) > 3 {
		return errSyntax
	}
	text, _, fits := c.text(c.Args[1])
	if !fits {
		return errWrongType
	}
	unit := int64(1)
	start, end := int64(0), int64(len(text))-1
	if len(words) > 0 {
		var first, second bool
		start, first = parseInt(words[0])
		end, second = parseInt(words[1])
		if !first || !second {
			return errNotInt
		}
		if len(words) == 3 {
			switch {
			case is(words[2], "bit"):
				unit = 8
			case !is(words[2], "byte"):
				return errSyntax
			}
		}
	}
	if start < 0 && end < 0 && start > end {
		return zero
	}
	start, end = within(start, end, int64(len(text))*unit)
	n := 0
	if unit == 8 {
		for i := start; i <= end; i++ {
			n += bitAt(text, i)
		}
		return number(n)
	}
	for i := start; i <= end; i++ {
		n += bits.OnesCount8(text[i])
	}
	return number(n)
}

// bitop is BITOP AND, OR, XOR and NOT: shorter strings count as if they ended in NULs.
func bitop(c *Call) reply.Value {
	op := lower(c.Args[1])
	switch op {
	case "and", "or", "xor":
	case "not":
		if len(c.Args) != 4 {
			return failure("ERR BITOP NOT must be called with a single source key.")
		}
	default:
		return errSyntax
	}
	var sources []string
	size := 0
	for _, key := range c.Args[3:] {
		text, _, fits := c.text(key)
		if !fits {
			return errWrongType
		}
		sources = append(sources, text)
		size = max(size, len(text))
	}
	if size == 0 {
		c.DB.Delete(c.Args[2])
		return zero
	}
	c.DB.SetString(c.Args[2], combineBits(op, sources, size), store.Never)
	return number(size)
}

func combineBits(op string, sources []string, size int) string {
	out := make([]byte, size)
	copy(out, sources[0])
	for _, s := range sources[1:] {
		for i := range out {
			var b byte
			if i < len(s) {
				b = s[i]
			}
			switch op {
			case "and":
				out[i] &= b
			case "or":
				out[i] |= b
			default:
				out[i] ^= b
			}
		}
	}
	if op == "not" {
		for i := range out {
			out[i] = ^out[i]
		}
	}
	return string(out)
}

// bitpos finds the first bit of a value. A zero is found behind the string, unless an end is given.
func bitpos(c *Call) reply.Value {
	bit, valid := parseInt(c.Args[2])
	switch {
	case !valid:
		return errNotInt
	case bit != 0 && bit != 1:
		return failure("ERR The bit argument must be 1 or 0.")
	}
	words := c.Args[3:]
	if len(words) > 3 {
		return errSyntax
	}
	e, fits := c.find(c.Args[1], store.String)
	if !fits {
		return errWrongType
	}
	text := ""
	if e != nil {
		text = e.Str
	}
	start, end, unit := int64(0), int64(len(text))-1, int64(8) // unit is in bits
	if len(words) > 0 {
		if start, valid = parseInt(words[0]); !valid {
			return errNotInt
		}
	}
	if len(words) > 2 {
		switch {
		case is(words[2], "bit"):
			unit = 1
		case !is(words[2], "byte"):
			return errSyntax
		}
	}
	if len(words) > 1 {
		if end, valid = parseInt(words[1]); !valid {
			return errNotInt
		}
	}
	if e == nil {
		return integer(-bit)
	}
	if start, end = within(start, end, int64(len(text))*8/unit); start > end {
		return integer(-1)
	}
	for i := start * unit; i < (end+1)*unit; i++ {
		if i&7 == 0 && i+8 <= (end+1)*unit && text[i>>3] == [...]byte{0xff, 0}[bit] {
			i += 7
			continue
		}
		if int64(bitAt(text, i)) == bit {
			return integer(i)
		}
	}
	if bit == 0 && len(words) < 2 {
		return integer(int64(len(text)) * 8)
	}
	return integer(-1)
}

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
