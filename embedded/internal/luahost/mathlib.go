package luahost

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func (l *Library) newMath() *lua.LTable {
	functions := map[string]func(c call) int{
		"fmod":       mathFmod,
		"frexp":      mathFrexp,
		"ldexp":      func(c call) int { return c.oneNumber(math.Ldexp(c.number(1), int(int32(c.int64(2))))) },
		"atan2":      func(c call) int { return c.oneNumber(math.Atan2(c.number(1), c.number(2))) },
		"max":        extreme(func(a, b float64) bool { return a > b }),
		"min":        extreme(func(a, b float64) bool { return a < b }),
		"modf":       mathModf,
		"pow":        func(c call) int { return c.oneNumber(math.Pow(c.number(1), c.number(2))) },
		"random":     l.mathRandom,
		"randomseed": l.mathRandomSeed,
	}
	for name, f := range map[string]func(float64) float64{
		"abs": math.Abs, "acos": math.Acos, "asin": math.Asin, "atan": math.Atan, "ceil": math.Ceil,
		"cos": math.Cos, "cosh": math.Cosh, "exp": math.Exp, "floor": math.Floor, "log": math.Log,
		"log10": math.Log10, "sin": math.Sin, "sinh": math.Sinh, "sqrt": math.Sqrt, "tan": math.Tan, "tanh": math.Tanh,
		"deg": func(x float64) float64 { return x / (math.Pi / 180) },
		"rad": func(x float64) float64 { return x * (math.Pi / 180) },
	} {
		functions[name] = func(c call) int { return c.oneNumber(f(c.number(1))) }
	}
	t := l.module(functions)
	t.RawSetString("huge", lua.LNumber(math.Inf(1)))
	t.RawSetString("pi", lua.LNumber(math.Pi))
	return t
}

// mathFmod gives C's NaN where there is no answer, which on x86-64 prints as -nan.
func mathFmod(c call) int {
	a, b := c.number(1), c.number(2)
	switch {
	case math.IsNaN(a):
		return c.oneNumber(a)
	case math.IsNaN(b):
		return c.oneNumber(b)
	}
	if b == 0 || math.IsInf(a, 0) {
		return c.oneNumber((a * b) / (a * b))
	}
	return c.oneNumber(math.Mod(a, b))
}

func mathFrexp(c call) int {
	fraction, exponent := math.Frexp(c.number(1))
	c.Push(lua.LNumber(fraction))
	c.Push(lua.LNumber(exponent))
	return 2
}

func mathModf(c call) int {
	n := c.number(1)
	whole := math.Trunc(n)
	fraction := math.Copysign(n-whole, n)
	if math.IsInf(n, 0) {
		fraction = math.Copysign(0, n)
	}
	c.Push(lua.LNumber(whole))
	c.Push(lua.LNumber(fraction))
	return 2
}

// extreme is the first argument, or the last one that is better than those before it.
func extreme(better func(a, b float64) bool) func(c call) int {
	return func(c call) int {
		best := c.number(1)
		for i := 2; i <= c.GetTop(); i++ {
			if n := c.number(i); better(n, best) {
				best = n
			}
		}
		return c.oneNumber(best)
	}
}

func (l *Library) mathRandom(c call) int {
	r := l.random.fraction()
	switch c.GetTop() {
	case 0:
		return c.oneNumber(r)
	case 1:
		high := int32(c.int64(1))
		if high < 1 {
			c.badArgument(1, "interval is empty")
		}
		return c.oneNumber(math.Floor(r*float64(high)) + 1)
	case 2:
		low, high := int32(c.int64(1)), int32(c.int64(2))
		if low > high {
			c.badArgument(2, "interval is empty")
		}
		return c.oneNumber(math.Floor(r*float64(high-low+1)) + float64(low))
	}
	c.fail("wrong number of arguments")
	return 0
}

func (l *Library) mathRandomSeed(c call) int {
	l.random.seed(int32(c.int64(1)))
	return 0
}

// rand48 is the generator behind math.random in Redis: the 48-bit linear
// congruential one of drand48, the same on every machine. Its first numbers are
// the same on every fresh server, so they are not secret.
type rand48 struct{ x uint64 }

const rand48Max = 1<<31 - 1

func newRand48() rand48 { return rand48{0x1234abcd330e} }

func (r *rand48) seed(n int32) { r.x = uint64(uint32(n))<<16 | 0x330e }

func (r *rand48) next() uint32 {
	r.x = (r.x*0x5deece66d + 0xb) & (1<<48 - 1)
	return uint32(r.x >> 17)
}

// fraction is at least 0 and below 1.
func (r *rand48) fraction() float64 { return float64(r.next()%rand48Max) / rand48Max }

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
