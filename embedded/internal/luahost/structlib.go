package luahost

import (
	"encoding/binary"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// newStruct is Roberto Ierusalimschy's struct, as bundled with Redis, on a
// little-endian machine with 64-bit longs.
func (l *Library) newStruct() *lua.LTable {
	return l.module(map[string]func(c call) int{"pack": structPack, "unpack": structUnpack, "size": structSize})
}

// maxIntSize is how many bytes i and I take at most.
const maxIntSize = 32

// layout reads a format, option by option.
type layout struct {
	call
	format string
	at     int
	big    bool
	align  int
}

func newLayout(c call) *layout {
	return &layout{call: c, format: cString(c.text(1)), align: 1}
}

// next is the next option and its size; the size of c may be 0.
func (f *layout) next() (option byte, size int, ok bool) {
	if f.at == len(f.format) {
		return 0, 0, false
	}
	option = f.format[f.at]
	f.at++
	switch option {
	case 'B', 'b', 'x':
		size = 1
	case 'H', 'h':
		size = 2
	case 'f':
		size = 4
	case 'L', 'l', 'T', 'd':
		size = 8
	case 'c':
		size = f.digits(1)
	case 'i', 'I':
		size = f.digits(4)
		if size > maxIntSize {
			f.fail("integral size %d is larger than limit of %d", size, maxIntSize)
		}
	case '>':
		f.big = true
	case '<':
		f.big = false
	case '!':
		if f.align = f.digits(8); f.align <= 0 || f.align&(f.align-1) != 0 {
			f.fail("alignment %d is not a power of 2", f.align)
		}
	case 's', ' ':
	default:
		f.badArgument(1, "invalid format option '"+string([]byte{option})+"'")
	}
	return option, size, true
}

func (f *layout) digits(otherwise int) int {
	n := digits(f.format[f.at:])
	if n == 0 {
		return otherwise
	}
	v := 0
	for _, c := range []byte(f.format[f.at : f.at+n]) {
		if v > (math.MaxInt32-9)/10 {
			f.fail("integral size overflow")
		}
		v = v*10 + int(c-'0')
	}
	f.at += n
	return v
}

// padding is how many bytes align an option after total others.
func (f *layout) padding(total int, option byte, size int) int {
	if size == 0 || option == 'c' {
		return 0
	}
	size = min(size, f.align)
	return (size - total&(size-1)) & (size - 1)
}

func (f *layout) order() binary.AppendByteOrder {
	if f.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func structPack(c call) int {
	f := newLayout(c)
	var out []byte
	arg := 1
	for {
		option, size, ok := f.next()
		if !ok {
			return c.oneText(string(out))
		}
		out = append(out, make([]byte, f.padding(len(out), option, size))...)
		switch option {
		case 'x':
			out = append(out, 0)
			continue
		case ' ', '<', '>', '!':
			continue
		}
		arg++
		switch option {
		case 'f':
			out = f.order().AppendUint32(out, math.Float32bits(float32(c.number(arg))))
		case 'd':
			out = f.order().AppendUint64(out, math.Float64bits(c.number(arg)))
		case 'c', 's':
			s := c.text(arg)
			if size == 0 {
				size = len(s)
			}
			if len(s) < size {
				c.badArgument(arg+1, "string too short")
			}
			out = append(out, s[:size]...)
			if option == 's' {
				out = append(out, 0)
			}
		default:
			out = f.appendInteger(out, c.number(arg), size)
		}
	}
}

func (f *layout) appendInteger(out []byte, n float64, size int) []byte {
	value := uint64(toInteger(n))
	if n >= 1<<63 {
		value = toUnsigned(n)
	}
	for i := range size {
		if f.big {
			i = size - 1 - i
		}
		out = append(out, byte(value>>(8*i)))
	}
	return out
}

func structUnpack(c call) int {
	f := newLayout(c)
	data := c.text(2)
	at := c.optInt(3, 1) - 1
	switch {
	case at == -1:
		c.badArgument(3, "offset must be 1 or greater")
	case at < 0:
		c.badArgument(2, "data string too short")
	}
	need := func(size int) {
		if at > len(data) || size > len(data)-at {
			c.badArgument(2, "data string too short")
		}
	}
	c.SetTop(2)
	for {
		option, size, ok := f.next()
		if !ok {
			c.Push(lua.LNumber(at + 1))
			return c.GetTop() - 2
		}
		at += f.padding(at, option, size)
		need(size)
		switch option {
		case 'x', ' ', '<', '>', '!':
		case 'f':
			c.Push(lua.LNumber(math.Float32frombits(f.order().(binary.ByteOrder).Uint32([]byte(data[at:])))))
		case 'd':
			c.Push(lua.LNumber(math.Float64frombits(f.order().(binary.ByteOrder).Uint64([]byte(data[at:])))))
		case 'c':
			if size == 0 {
				n, ok := toNumber(c.Get(-1))
				if !ok || c.GetTop() < 3 {
					c.fail("format 'c0' needs a previous size")
				}
				c.Pop(1)
				size = toInt(n)
				if size < 0 {
					size = math.MaxInt
				}
				need(size)
			}
			c.Push(lua.LString(data[at : at+size]))
		case 's':
			end := strings.IndexByte(data[at:], 0)
			if end < 0 {
				c.fail("unfinished string in data")
			}
			c.Push(lua.LString(data[at : at+end]))
			size = end + 1
		default:
			c.Push(lua.LNumber(f.integer(data[at:at+size], 'a' <= option && option <= 'z')))
		}
		at += size
	}
}

func (f *layout) integer(data string, signed bool) float64 {
	var value uint64
	for i := range len(data) {
		b := data[i]
		if f.big {
			b = data[len(data)-1-i]
		}
		value |= uint64(b) << (8 * i)
	}
	if !signed {
		return float64(value)
	}
	if unused := 64 - 8*len(data); unused > 0 {
		return float64(int64(value<<unused) >> unused)
	}
	return float64(int64(value))
}

func structSize(c call) int {
	f := newLayout(c)
	total := 0
	for {
		option, size, ok := f.next()
		if !ok {
			return c.oneNumber(float64(total))
		}
		switch {
		case option == 's':
			c.badArgument(1, "option 's' has no fixed size")
		case option == 'c' && size == 0:
			c.badArgument(1, "option 'c0' has no fixed size")
		}
		total += f.padding(total, option, size) + size
	}
}
