package command

import (
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

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
