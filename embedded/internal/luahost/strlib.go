package luahost

import (
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// maxString is the longest string that string.rep and .. make: a real server would
// answer "not enough memory" or be killed.
const maxString = 512 << 20

func (l *Library) newString() *lua.LTable {
	all := map[string]func(c call) int{
		"byte":    stringByte,
		"char":    stringChar,
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
	}
	if l.observer != nil {
		for name, at := range map[string][]int{"find": {2}, "format": {1}, "gmatch": {2}, "gsub": {2, 3}, "match": {2}} {
			all[name] = l.spelled(name, at, all[name])
		}
	}
	return l.module(all)
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
	b := []byte(c.text(1))
	slices.Reverse(b)
	return c.oneText(string(b))
}

// value is capture i of a match from start to end; without captures the whole
// match is number 0.
func (m *matcher) value(i, start, end int) lua.LValue {
	if i >= m.level {
		if i != 0 {
			m.call.fail("invalid capture index")
		}
		return lua.LString(m.text[start:end])
	}
	switch c := m.captures[i]; c.size {
	case captureOpen:
		m.call.fail("unfinished capture")
		return lua.LNil
	case capturePosition:
		return lua.LNumber(c.start + 1)
	default:
		return lua.LString(m.text[c.start : c.start+c.size])
	}
}

// push pushes all captures, or the whole match if there are none and whole is set.
func (m *matcher) push(start, end int, whole bool) int {
	n := m.level
	if n == 0 && whole {
		n = 1
	}
	for i := range n {
		m.call.Push(m.value(i, start, end))
	}
	return n
}

// search finds the first match at or after from.
func (m *matcher) search(from int) (start, end int) {
	anchored := strings.HasPrefix(m.pattern, "^")
	p := 0
	if anchored {
		p = 1
	}
	for s := from; s <= len(m.text); s++ {
		m.level, m.depth = 0, 0
		if e := m.match(s, p); e >= 0 {
			return s, e
		}
		if anchored {
			break
		}
	}
	return -1, -1
}

// startIndex is where find and match begin.
func startIndex(c call, text string) int {
	return min(max(position(c.optInt(3, 1), len(text))-1, 0), len(text))
}

func stringFind(c call) int {
	text, pattern := c.text(1), c.text(2)
	from := startIndex(c, text)
	if lua.LVAsBool(c.Get(4)) || !hasSpecials(pattern) {
		i := strings.Index(text[from:], pattern)
		if i < 0 {
			return c.one(lua.LNil)
		}
		c.Push(lua.LNumber(from + i + 1))
		c.Push(lua.LNumber(from + i + len(pattern)))
		return 2
	}
	m := &matcher{call: c, text: text, pattern: pattern}
	start, end := m.search(from)
	if start < 0 {
		return c.one(lua.LNil)
	}
	c.Push(lua.LNumber(start + 1))
	c.Push(lua.LNumber(end))
	return 2 + m.push(start, end, false)
}

func stringMatch(c call) int {
	text, pattern := c.text(1), c.text(2)
	m := &matcher{call: c, text: text, pattern: pattern}
	start, end := m.search(startIndex(c, text))
	if start < 0 {
		return c.one(lua.LNil)
	}
	return m.push(start, end, true)
}

func stringGMatch(c call) int {
	text, pattern, from := c.text(1), c.text(2), 0
	return c.one(function(c.LState, "gmatch", func(c call) int {
		m := &matcher{call: c, text: text, pattern: pattern}
		for ; from <= len(text); from++ {
			m.level, m.depth = 0, 0
			end := m.match(from, 0)
			if end < 0 {
				continue
			}
			start := from
			from = end
			if end == start {
				from++ // an empty match: go on at least one position
			}
			return m.push(start, end, true)
		}
		return 0
	}))
}

func stringGSub(c call) int {
	text, pattern := c.text(1), c.text(2)
	replacement := c.Get(3)
	switch replacement.Type() {
	case lua.LTNumber, lua.LTString, lua.LTTable, lua.LTFunction:
	default:
		c.badArgument(3, "string/function/table expected")
	}
	most := c.optInt(4, len(text)+1)
	anchor := strings.HasPrefix(pattern, "^")
	p := 0
	if anchor {
		p = 1
	}
	m := &matcher{call: c, text: text, pattern: pattern}
	var out strings.Builder
	at, n := 0, 0
	for n < most {
		m.level, m.depth = 0, 0
		end := m.match(at, p)
		if end >= 0 {
			n++
			m.replace(&out, replacement, at, end)
		}
		switch {
		case end > at:
			at = end
		case at < len(text):
			out.WriteByte(text[at])
			at++
		default:
			at++
		}
		if at > len(text) || anchor {
			break
		}
	}
	if at < len(text) {
		out.WriteString(text[at:])
	}
	c.Push(lua.LString(out.String()))
	c.Push(lua.LNumber(n))
	return 2
}

// replace writes what one match becomes.
func (m *matcher) replace(out *strings.Builder, replacement lua.LValue, start, end int) {
	var v lua.LValue
	switch r := replacement.(type) {
	case *lua.LTable:
		v = m.call.GetTable(r, m.value(0, start, end))
	case *lua.LFunction:
		m.call.Push(r)
		m.call.LState.Call(m.push(start, end, true), 1)
		v = m.call.Get(-1)
		m.call.Pop(1)
	default:
		text, _ := toText(r)
		m.template(out, text, start, end)
		return
	}
	if lua.LVIsFalse(v) {
		out.WriteString(m.text[start:end])
		return
	}
	s, ok := toText(v)
	if !ok {
		m.call.fail("invalid replacement value (a %s)", v.Type().String())
	}
	out.WriteString(s)
}

// template fills %0 to %9 into a replacement text.
func (m *matcher) template(out *strings.Builder, text string, start, end int) {
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			out.WriteByte(text[i])
			continue
		}
		i++
		var c byte
		if i < len(text) {
			c = text[i]
		}
		switch {
		case !isDigit(c):
			out.WriteByte(c)
		case c == '0':
			out.WriteString(m.text[start:end])
		default:
			s, _ := toText(m.value(int(c-'1'), start, end))
			out.WriteString(s)
		}
	}
}
