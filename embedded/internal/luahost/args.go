package luahost

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"
)

// call is one call of a library function from Lua: its name, for the messages,
// and its arguments, which it checks as Lua 5.1's auxiliary library does.
type call struct {
	*lua.LState
	name string
}

// function wraps a Go function as a Lua one.
func function(L *lua.LState, name string, f func(c call) int) *lua.LFunction {
	return L.NewFunction(func(L *lua.LState) int { return f(call{L, name}) })
}

func (c call) fail(format string, args ...any) {
	c.RaiseError("%s", fmt.Sprintf(format, args...))
}

func (c call) badArgument(n int, why string) {
	c.fail("bad argument #%d to '%s' (%s)", n, c.name, why)
}

func (c call) wrongType(n int, want string) {
	got := "no value"
	if n <= c.GetTop() {
		got = c.Get(n).Type().String()
	}
	c.badArgument(n, want+" expected, got "+got)
}

// any is argument n, which must be there, if only as nil.
func (c call) any(n int) lua.LValue {
	if n > c.GetTop() {
		c.badArgument(n, "value expected")
	}
	return c.Get(n)
}

func (c call) absent(n int) bool { return c.Get(n) == lua.LNil }

func (c call) number(n int) float64 {
	v := c.Get(n)
	if f, ok := v.(lua.LNumber); ok {
		return float64(f)
	}
	f, ok := toNumber(v)
	if !ok {
		c.wrongType(n, "number")
	}
	return f
}

// int is a number argument cut to a whole one.
func (c call) int(n int) int { return toInt(c.number(n)) }

// cInt is a number argument as those functions of Lua take it that cut it to 32 bits.
func (c call) cInt(n int) int { return int(int32(c.int64(n))) }

func (c call) optCInt(n, otherwise int) int {
	if c.absent(n) {
		return otherwise
	}
	return c.cInt(n)
}

// int64 is int for what is more than a place in a text or table.
func (c call) int64(n int) int64 { return toInteger(c.number(n)) }

func (c call) optInt(n, otherwise int) int {
	if c.absent(n) {
		return otherwise
	}
	return c.int(n)
}

func (c call) text(n int) string {
	v := c.Get(n)
	if s, ok := v.(lua.LString); ok {
		return string(s)
	}
	s, ok := toText(v)
	if !ok {
		c.wrongType(n, "string")
	}
	return s
}

func (c call) optText(n int, otherwise string) string {
	if c.absent(n) {
		return otherwise
	}
	return c.text(n)
}

func (c call) table(n int) *lua.LTable {
	t, ok := c.Get(n).(*lua.LTable)
	if !ok {
		c.wrongType(n, "table")
	}
	return t
}

func (c call) function(n int) *lua.LFunction {
	f, ok := c.Get(n).(*lua.LFunction)
	if !ok {
		c.wrongType(n, "function")
	}
	return f
}

// one, text and so on return the results of a function.
func (c call) one(v lua.LValue) int {
	c.Push(v)
	return 1
}

func (c call) oneNumber(n float64) int { return c.one(lua.LNumber(n)) }

func (c call) oneText(s string) int { return c.one(lua.LString(s)) }
