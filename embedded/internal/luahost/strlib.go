package luahost

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// maxString is the longest string that string.rep and .. make: a real server would
// answer "not enough memory" or be killed.
const maxString = 512 << 20

func (l *Library) newString() *lua.LTable {
	t := l.module(map[string]func(c call) int{
		"byte": stringByte,
		"char": stringChar,
		"dump": func(c call) int {
			c.function(1)
			c.fail("unable to dump given function")
			return 0
		},
		"find":    stringFind,
		"format":  l.stringFormat,
		"gmatch":  stringGMatch,
		"gsub":    stringGSub,
		"len":     func(c call) int { return c.oneNumber(float64(len(c.text(1)))) },
		"lower":   func(c call) int { return c.oneText(lower(c.text(1))) },
		"match":   stringMatch,
		"rep":     l.stringRep,
		"reverse": stringReverse,
		"sub":     stringSub,
		"upper":   func(c call) int { return c.oneText(upper(c.text(1))) },
	})
	t.RawSetString("gfind", t.RawGetString("gmatch"))
	return t
}

// position turns a negative index into one from the start.
func position(i, size int) int {
	if i < 0 {
		i += size + 1
	}
	return max(i, 0)
}

func stringSub(c call) int {
	s := c.text(1)
	i, j := position(c.int(2), len(s)), position(c.optInt(3, -1), len(s))
	i, j = max(i, 1), min(j, len(s))
	if i > j {
		return c.oneText("")
	}
	return c.oneText(s[i-1 : j])
}

func stringByte(c call) int {
	s := c.text(1)
	i := position(c.optInt(2, 1), len(s))
	j := position(c.optInt(3, i), len(s))
	i, j = max(i, 1), min(j, len(s))
	if i > j {
		return 0
	}
	if c.GetTop()+j-i+1 > stackSlots {
		c.fail("stack overflow (string slice too long)")
	}
	for _, b := range []byte(s[i-1 : j]) {
		c.Push(lua.LNumber(b))
	}
	return j - i + 1
}

func stringChar(c call) int {
	b := make([]byte, c.GetTop())
	for i := range b {
		n := c.cInt(i + 1)
		if n != int(byte(n)) {
			c.badArgument(i+1, "invalid value")
		}
		b[i] = byte(n)
	}
	return c.oneText(string(b))
}

// mostText is the longest text of a call. One that is observed is a test's, and many calls follow each other.
func (l *Library) mostText() int {
	if l.observer != nil {
		return maxString / 128
	}
	return maxString
}

func (l *Library) stringRep(c call) int {
	s, n := c.text(1), c.cInt(2)
	if n <= 0 || s == "" {
		return c.oneText("")
	}
	if n > l.mostText()/len(s) {
		c.fail("not enough memory")
	}
	return c.oneText(strings.Repeat(s, n))
}

func stringReverse(c call) int {
	s := c.text(1)
	b := make([]byte, len(s))
	for i := range b {
		b[i] = s[len(s)-1-i]
	}
	return c.oneText(string(b))
}
