package luahost

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// newBit is Lua BitOp: 32-bit operations with signed results.
func (l *Library) newBit() *lua.LTable {
	functions := map[string]func(c call) int{
		"tobit": func(c call) int { return c.bit(c.bits(1)) },
		"bnot":  func(c call) int { return c.bit(^c.bits(1)) },
		"bswap": func(c call) int { return c.bit(bits.ReverseBytes32(c.bits(1))) },
		"tohex": bitToHex,
	}
	for name, op := range map[string]func(a, b uint32) uint32{
		"band": func(a, b uint32) uint32 { return a & b },
		"bor":  func(a, b uint32) uint32 { return a | b },
		"bxor": func(a, b uint32) uint32 { return a ^ b },
	} {
		functions[name] = func(c call) int {
			b := c.bits(1)
			for i := 2; i <= c.GetTop(); i++ {
				b = op(b, c.bits(i))
			}
			return c.bit(b)
		}
	}
	for name, op := range map[string]func(b uint32, n int) uint32{
		"lshift":  func(b uint32, n int) uint32 { return b << n },
		"rshift":  func(b uint32, n int) uint32 { return b >> n },
		"arshift": func(b uint32, n int) uint32 { return uint32(int32(b) >> n) },
		"rol":     bits.RotateLeft32,
		"ror":     func(b uint32, n int) uint32 { return bits.RotateLeft32(b, -n) },
	} {
		functions[name] = func(c call) int {
			b := c.bits(1)
			return c.bit(op(b, int(c.bits(2)&31)))
		}
	}
	return l.module(functions)
}

// bits is a number argument modulo 2^32, rounded to even first.
func (c call) bits(n int) uint32 {
	f := c.number(n) + 3<<51 // the low bits of the sum's mantissa are the integer
	return uint32(math.Float64bits(f))
}

func (c call) bit(b uint32) int { return c.oneNumber(float64(int32(b))) }

func bitToHex(c call) int {
	b, n := c.bits(1), int32(8)
	if c.GetTop() >= 2 {
		n = int32(c.bits(2))
	}
	capitals := n < 0
	if capitals {
		n = -n
	}
	if n > 8 || n < 0 {
		n = 8
	}
	s := strconv.FormatUint(uint64(b), 16)
	s = strings.Repeat("0", 8-len(s)) + s
	s = s[8-n:]
	if capitals {
		s = upper(s)
	}
	return c.oneText(s)
}
