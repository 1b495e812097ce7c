package luahost

import (
	lua "github.com/yuin/gopher-lua"
)

// openCoroutine takes gopher-lua's coroutines; new ones are stoppable like the
// function that made them.
func (l *Library) openCoroutine(globals *lua.LTable) {
	L := l.state
	lua.OpenCoroutine(L)
	opened := L.Get(-1).(*lua.LTable)
	L.SetTop(0)
	module := L.CreateTable(0, 6)
	for k, v := opened.Next(lua.LNil); k != lua.LNil; k, v = opened.Next(k) {
		module.RawSet(k, v)
	}
	create := opened.RawGetString("create").(*lua.LFunction)
	module.RawSetString("create", function(L, "create", func(c call) int {
		f := c.function(1)
		if f.IsG {
			c.badArgument(1, "Lua function expected")
		}
		c.Push(create)
		c.Push(f)
		c.Call(1, 1)
		if thread, ok := c.Get(-1).(*lua.LState); ok {
			thread.SetContext(&l.budget)
		}
		return 1
	}))
	resume := l.resume(opened.RawGetString("resume").(*lua.LFunction).GFunction)
	module.RawSetString("resume", resume)
	module.RawSetString("wrap", function(L, "wrap", func(c call) int {
		c.Push(module.RawGetString("create"))
		c.Push(c.Get(1))
		c.Call(1, 1)
		thread := c.Get(-1)
		return c.one(function(c.LState, "wrap", func(c call) int { return wrapped(c, resume, thread) }))
	}))
	globals.RawSetString("coroutine", l.env.protect(module))
}

// resume is gopher-lua's, which has no limit of coroutines that resume others: the machine's memory was the limit.
func (l *Library) resume(original lua.LGFunction) *lua.LFunction {
	return function(l.state, "resume", func(c call) int {
		if l.nested >= maxNested {
			c.Push(lua.LFalse)
			c.Push(lua.LString(tooNested))
			return 2
		}
		outside := l.nested
		l.nested++
		n := original(c.LState)
		l.nested = outside
		if text, ok := c.Get(-1).(lua.LString); ok && n == 2 && c.Get(-2) == lua.LFalse {
			c.Pop(1)
			c.Push(lua.LString(reworded(string(text))))
		}
		return n
	})
}

// wrapped resumes a thread and raises what it raises.
func wrapped(c call, resume *lua.LFunction, thread lua.LValue) int {
	n := c.GetTop()
	c.Push(resume)
	c.Push(thread)
	for i := 1; i <= n; i++ {
		c.Push(c.Get(i))
	}
	c.Call(n+1, lua.MultRet)
	if c.Get(n+1) == lua.LFalse {
		v := c.Get(n + 2)
		if s, ok := toText(v); ok {
			v = lua.LString(whereIs(c.LState, 1) + s)
		}
		c.Error(v, 0)
	}
	return c.GetTop() - n - 1
}
