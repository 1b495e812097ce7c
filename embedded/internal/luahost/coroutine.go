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
	module.RawSetString("create", function(L, "create", func(c call) int { return c.one(l.coroutine(c, create)) }))
	resume := l.resume(opened.RawGetString("resume").(*lua.LFunction).GFunction)
	module.RawSetString("resume", resume)
	module.RawSetString("status", function(L, "status", func(c call) int { return c.one(lua.LString(coroutineStatus(c))) }))
	module.RawSetString("yield", function(L, "yield", l.yield))
	module.RawSetString("wrap", function(L, "wrap", func(c call) int {
		thread := l.coroutine(c, create)
		return c.one(function(c.LState, "wrap", func(c call) int { return wrapped(c, resume, thread) }))
	}))
	globals.RawSetString("coroutine", l.env.protect(module))
}

// coroutine makes one of argument 1.
func (l *Library) coroutine(c call, create *lua.LFunction) lua.LValue {
	f, ok := c.Get(1).(*lua.LFunction)
	if !ok || f.IsG {
		c.badArgument(1, "Lua function expected")
	}
	c.Push(create)
	c.Push(f)
	c.Call(1, 1)
	thread := c.Get(-1)
	thread.(*lua.LState).SetContext(&l.budget)
	return thread
}

// resume is gopher-lua's, which resumes also a coroutine that has resumed this one, and any depth of them.
func (l *Library) resume(original lua.LGFunction) *lua.LFunction {
	return function(l.state, "resume", func(c call) int {
		refused := ""
		if status := coroutineStatus(c); status != "suspended" {
			refused = "cannot resume " + status + " coroutine"
		} else if l.nested >= maxNested {
			refused = tooNested
		}
		if refused != "" {
			c.Push(lua.LFalse)
			c.Push(lua.LString(refused))
			return 2
		}
		outside, outsideResumed := l.nested, l.resumed
		l.nested++
		l.resumed = l.nested
		n := original(c.LState)
		l.nested, l.resumed = outside, outsideResumed
		if text, ok := c.Get(-1).(lua.LString); ok && n == 2 && c.Get(-2) == lua.LFalse {
			c.Pop(1)
			c.Push(lua.LString(reworded(string(text))))
		}
		return n
	})
}

// coroutineStatus is that of argument 1.
func coroutineStatus(c call) string {
	thread, ok := c.Get(1).(*lua.LState)
	switch {
	case !ok:
		c.badArgument(1, "coroutine expected")
	case thread.Dead:
		return "dead"
	case thread == c.LState:
		return "running"
	case thread.Parent != nil:
		return "normal"
	}
	return "suspended"
}

// yield refuses to leave a protected call, whose end gopher-lua would forget.
func (l *Library) yield(c call) int {
	if c.Parent == nil || l.nested != l.resumed {
		c.Error(lua.LString("attempt to yield across metamethod/C-call boundary"), 0)
	}
	return -1
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
