package luahost

import (
	"errors"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openBase adds the basic functions. getfenv, setfenv and newproxy are missing
// as on servers with the fixes of 2025.
func (l *Library) openBase(globals *lua.LTable) {
	l.openOperators()
	if l.observer != nil {
		l.openObserved()
	}
	next := function(l.state, "next", l.baseNext)
	step := function(l.state, "ipairs", l.ipairsStep)
	for name, f := range map[string]func(c call) int{
		"assert":       baseAssert,
		"error":        baseError,
		"getmetatable": l.baseGetMetatable,
		"ipairs": func(c call) int {
			c.table(1)
			c.Push(step)
			c.Push(c.Get(1))
			c.Push(lua.LNumber(0))
			return 3
		},
		"pairs": func(c call) int {
			c.table(1)
			c.Push(next)
			c.Push(c.Get(1))
			c.Push(lua.LNil)
			return 3
		},
		"pcall":        l.basePCall,
		"rawequal":     func(c call) int { return c.one(lua.LBool(rawEqual(c.any(1), c.any(2)))) },
		"rawget":       func(c call) int { return c.one(l.env.behind(c.table(1)).RawGet(c.any(2))) },
		"rawset":       l.baseRawSet,
		"select":       baseSelect,
		"setmetatable": l.baseSetMetatable,
		"tonumber":     baseToNumber,
		"tostring": func(c call) int {
			text := l.tostring(c.LState, c.any(1))
			if n, isNumber := c.Get(1).(lua.LNumber); isNumber {
				l.lossy(c.LState, float64(n), text, false)
			}
			return c.oneText(text)
		},
		"type":   func(c call) int { return c.oneText(c.any(1).Type().String()) },
		"unpack": l.baseUnpack,
		"xpcall": l.baseXPCall,
	} {
		globals.RawSetString(name, function(l.state, name, f))
	}
	globals.RawSetString("next", next)
	globals.RawSetString("_VERSION", lua.LString("Lua 5.1"))
}

func rawEqual(a, b lua.LValue) bool {
	if x, ok := a.(lua.LNumber); ok {
		y, ok := b.(lua.LNumber)
		return ok && x == y
	}
	return a == b
}

func baseAssert(c call) int {
	if lua.LVIsFalse(c.any(1)) {
		c.fail("%s", c.optText(2, "assertion failed!"))
	}
	return c.GetTop()
}

// baseError puts the place of the function at a level before a text.
func baseError(c call) int {
	v, level := c.Get(1), c.optInt(2, 1)
	if s, ok := toText(v); ok && level > 0 {
		v = lua.LString(whereIs(c.LState, level) + s)
	}
	c.Error(v, 0)
	return 0
}

// whereIs is "user_function:3: " for the function at a level, or nothing.
func whereIs(L *lua.LState, level int) string {
	where := L.Where(level)
	if where == "" || where == "[G]:" {
		return ""
	}
	return where + " "
}

func (l *Library) baseGetMetatable(c call) int {
	v := c.any(1)
	if t, ok := v.(*lua.LTable); ok && t == l.env.table {
		return c.one(l.env.protect(l.env.meta))
	} else if ok && l.env.behind(t) != t {
		return c.one(lua.LNil)
	}
	meta, ok := c.GetMetatable(v).(*lua.LTable)
	if _, isString := v.(lua.LString); isString && ok {
		return c.one(l.env.protect(meta))
	}
	return c.one(c.GetMetatable(v))
}

func (l *Library) baseSetMetatable(c call) int {
	t := c.table(1)
	meta := c.Get(2)
	if c.GetTop() < 2 || meta.Type() != lua.LTNil && meta.Type() != lua.LTTable {
		c.badArgument(2, "nil or table expected")
	}
	l.env.writable(c, t)
	if old, ok := t.Metatable.(*lua.LTable); ok && old.RawGetString("__metatable") != lua.LNil {
		c.fail("cannot change a protected metatable")
	}
	t.Metatable = meta
	return c.one(t)
}

func (l *Library) baseRawSet(c call) int {
	t, k, v := c.table(1), c.any(2), c.any(3)
	l.env.writable(c, t)
	if k == lua.LNil {
		c.fail("table index is nil")
	}
	if n, ok := k.(lua.LNumber); ok && math.IsNaN(float64(n)) {
		c.fail("table index is NaN")
	}
	t.RawSet(k, v)
	return c.one(t)
}

func (l *Library) baseNext(c call) int {
	t := l.env.behind(c.table(1))
	k, v := t.Next(c.Get(2))
	if k == lua.LNil {
		return c.one(lua.LNil)
	}
	c.Push(k)
	c.Push(v)
	return 2
}

func (l *Library) ipairsStep(c call) int {
	t, i := c.table(1), c.int(2)+1
	v := l.env.behind(t).RawGetInt(i)
	if v == lua.LNil {
		return c.one(lua.LNil)
	}
	c.Push(lua.LNumber(i))
	c.Push(v)
	return 2
}

func baseSelect(c call) int {
	n := c.GetTop()
	if s, ok := c.Get(1).(lua.LString); ok && strings.HasPrefix(string(s), "#") {
		return c.oneNumber(float64(n - 1))
	}
	i := c.cInt(1)
	if i < 0 {
		i += n
	} else if i > n {
		i = n
	}
	if i < 1 {
		c.badArgument(1, "index out of range")
	}
	return n - i
}

// stackSlots is how many values a C function may have on its stack.
const stackSlots = 8000

func (l *Library) baseUnpack(c call) int {
	t := l.env.behind(c.table(1))
	i, last := c.optCInt(2, 1), c.optCInt(3, t.Len())
	if i > last {
		return 0
	}
	n := last - i + 1
	if n <= 0 || n > stackSlots-c.GetTop() {
		c.fail("too many results to unpack")
	}
	for k := range n {
		c.Push(t.RawGet(lua.LNumber(i + k)))
	}
	return n
}

func baseToNumber(c call) int {
	base := c.optCInt(2, 10)
	if base == 10 {
		if n, ok := toNumber(c.any(1)); ok {
			return c.oneNumber(n)
		}
		return c.one(lua.LNil)
	}
	s := c.text(1)
	if base < 2 || base > 36 {
		c.badArgument(2, "base out of range")
	}
	if n, ok := parseUnsigned(cString(s), base); ok {
		return c.oneNumber(float64(n))
	}
	return c.one(lua.LNil)
}

// parseUnsigned is C's strtoul with blanks after the number.
func parseUnsigned(s string, base int) (uint64, bool) {
	s = strings.TrimFunc(s, func(r rune) bool { return r < 128 && isSpace(byte(r)) })
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if base == 16 && foldPrefix(s, "0x") && len(s) > 2 {
		s = s[2:]
	}
	n, err := strconv.ParseUint(s, base, 64) // the greatest, if it is out of range
	if negative && err == nil {
		n = -n
	}
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}

// tostring is Lua's, with __tostring.
func (l *Library) tostring(L *lua.LState, v lua.LValue) string {
	if s, ok := toText(v); ok {
		return s
	}
	switch v.(type) {
	case *lua.LTable, *lua.LUserData:
		if f := L.GetMetaField(v, "__tostring"); f != lua.LNil {
			L.Push(f)
			L.Push(v)
			L.Call(1, 1)
			s, ok := toText(L.Get(-1))
			L.Pop(1)
			if !ok {
				L.RaiseError("'tostring' must return a string to 'print'")
			}
			return s
		}
	}
	if v == lua.LValue(jsonNull) {
		return "userdata: (nil)"
	}
	return v.String()
}

// arithmetic is what the operators do with numbers, by their events.
var arithmetic = map[string]func(a, b float64) float64{
	"__add": func(a, b float64) float64 { return a + b },
	"__sub": func(a, b float64) float64 { return a - b },
	"__mul": func(a, b float64) float64 { return a * b },
	"__div": func(a, b float64) float64 { return a / b },
	"__mod": modulo,
	"__pow": math.Pow,
	"__unm": func(a, _ float64) float64 { return -a },
}

// modulo is Lua 5.1's definition, which is inexact for large quotients.
func modulo(a, b float64) float64 { return a - float64(math.Floor(a/b)*b) }

// openOperators makes the functions that rewritten operators call.
func (l *Library) openOperators() {
	l.env.table.RawSetString(concatName, l.state.NewFunction(l.concat))
	l.env.table.RawSetString(moduloName, l.state.NewFunction(l.moduloOperator))
	l.env.table.RawSetString(boundName, l.state.NewFunction(func(L *lua.LState) int {
		n, ok := toNumber(L.Get(1))
		if !ok {
			L.RaiseError("'for' %s must be a number", L.Get(2).String())
		}
		L.Push(lua.LNumber(n))
		return 1
	}))
}

func (l *Library) moduloOperator(L *lua.LState) int {
	a, b := L.Get(1), L.Get(2)
	if l.observer != nil && b == lua.LNumber(0) {
		l.doubt(L, "division-by-zero", "divides by 0")
	}
	x, ok := a.(lua.LNumber)
	y, ok2 := b.(lua.LNumber)
	switch {
	case ok && ok2 && float64(x) >= 0 && float64(x) < 1<<53 && y > 0 && y < 1<<53:
		// Both ways agree on whole numbers; this one is faster.
		if i, j := int64(x), int64(y); float64(i) == float64(x) && float64(j) == float64(y) {
			L.Push(lua.LNumber(i % j))
			return 1
		}
		fallthrough
	case ok && ok2:
		L.Push(lua.LNumber(modulo(float64(x), float64(y))))
		return 1
	}
	if m, ok := toNumber(a); ok {
		if n, ok := toNumber(b); ok {
			L.Push(lua.LNumber(modulo(m, n)))
			return 1
		}
	}
	return arithmeticFallback(L, "__mod")
}

// concat joins its arguments as a chain of .. does.
func (l *Library) concat(L *lua.LState) int {
	n := L.GetTop()
	var held [8]string
	texts := held[:0]
	for i := 1; i <= n; i++ {
		s, ok := toText(L.Get(i))
		if !ok {
			return concatFallback(L)
		}
		if n, isNumber := L.Get(i).(lua.LNumber); isNumber {
			l.lossy(L, float64(n), s, false)
		}
		texts = append(texts, s)
	}
	size := 0
	for _, s := range texts {
		size += len(s)
	}
	if size > l.mostText() {
		L.RaiseError("not enough memory")
	}
	L.Push(lua.LString(strings.Join(texts, "")))
	return 1
}

// concatFallback goes from right to left, pair by pair, and asks for __concat.
func concatFallback(L *lua.LState) int {
	n := L.GetTop()
	right := L.Get(n)
	for i := n - 1; i >= 1; i-- {
		left := L.Get(i)
		a, ok := toText(left)
		b, ok2 := toText(right)
		if ok && ok2 {
			right = lua.LString(a + b)
			continue
		}
		f := L.GetMetaField(left, "__concat")
		if f == lua.LNil {
			f = L.GetMetaField(right, "__concat")
		}
		if f == lua.LNil {
			bad := left
			if ok {
				bad = right
			}
			L.RaiseError("attempt to concatenate a %s value", bad.Type().String())
		}
		L.Push(f)
		L.Push(left)
		L.Push(right)
		L.Call(2, 1)
		right = L.Get(-1)
		L.Pop(1)
	}
	L.Push(right)
	return 1
}
