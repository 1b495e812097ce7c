package command

import (
	"math/bits"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
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
