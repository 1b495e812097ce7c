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
		"assert":         baseAssert,
		"collectgarbage": baseCollectGarbage,
		"error":          baseError,
		"gcinfo":         func(c call) int { return c.oneNumber(heapKiB) },
		"getmetatable":   l.baseGetMetatable,
		"ipairs": func(c call) int {
			c.table(1)
			c.Push(step)
			c.Push(c.Get(1))
			c.Push(lua.LNumber(0))
			return 3
		},
		"load":       l.baseLoad,
		"loadstring": l.baseLoadString,
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

// heapKiB is what collectgarbage('count') returns: Go collects the garbage, and does not say how much is a script's.
const heapKiB = 64

func baseCollectGarbage(c call) int {
	switch option := c.optText(1, "collect"); option {
	case "collect", "stop", "restart":
	case "count":
		return c.oneNumber(heapKiB)
	case "step":
		return c.one(lua.LFalse) // no cycle has ended
	case "setpause", "setstepmul":
		return c.oneNumber(200) // the values of Lua
	default:
		c.badArgument(1, "invalid option '"+option+"'")
	}
	return c.oneNumber(0)
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
