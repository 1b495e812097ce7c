package luahost

import (
	lua "github.com/yuin/gopher-lua"
)

// The limits of a Lua state. Lua-to-Lua calls nest up to callDepth, and protected calls and coroutines, which
// take more of the machine's stack, up to maxNested; both are Lua 5.1's. The stack of values starts small and grows.
const (
	callDepth    = 20000
	maxNested    = 200
	stackSize    = 2 * 1024
	stackMaxSize = 1024 * 1024
	stackGrowth  = 4 * 1024
)

// open makes the library's Lua state with all that functions and top levels see.
func (l *Library) open() {
	L := lua.NewState(lua.Options{
		CallStackSize:       callDepth,
		MinimizeStackMemory: true,
		RegistrySize:        stackSize,
		RegistryMaxSize:     stackMaxSize,
		RegistryGrowStep:    stackGrowth,
		SkipOpenLibs:        true,
	})
	l.state = L
	l.handler = L.NewFunction(func(*lua.LState) int { return 1 })
	l.locate = L.NewFunction(l.located)
	l.env = newEnvironment(L)

	globals := l.env.globals
	l.openBase(globals)
	l.openCoroutine(globals)
	modules := map[string]*lua.LTable{
		"string":   l.newString(),
		"table":    l.newTable(),
		"math":     l.newMath(),
		"os":       l.newOS(),
		"bit":      l.newBit(),
		"struct":   l.newStruct(),
		"cjson":    l.newCJSON(&l.json),
		"cmsgpack": l.newMessagePack(),
		"redis":    l.newRedis(),
	}
	for name, module := range modules {
		globals.RawSetString(name, l.env.protect(module))
	}
	l.env.library.RawSetString("redis", l.env.protect(l.newLibraryAPI()))
	l.openStringType(globals.RawGetString("string"))
	l.budget.start(0, "")
	L.SetContext(&l.budget)
}

// module makes a table of library functions.
func (l *Library) module(functions map[string]func(c call) int) *lua.LTable {
	t := l.state.CreateTable(0, len(functions))
	for name, f := range functions {
		t.RawSetString(name, function(l.state, name, f))
	}
	return t
}

// openStringType makes s:method() and arithmetic on strings work as in Lua 5.1.
func (l *Library) openStringType(module lua.LValue) {
	meta := l.state.NewTable()
	meta.RawSetString("__index", module)
	for event, op := range arithmetic {
		meta.RawSetString(event, l.state.NewFunction(func(L *lua.LState) int {
			a, ok := toNumber(L.Get(1))
			b, ok2 := a, true
			if event != "__unm" {
				b, ok2 = toNumber(L.Get(2))
			}
			if !ok || !ok2 {
				return arithmeticFallback(L, event)
			}
			L.Push(lua.LNumber(op(a, b)))
			return 1
		}))
	}
	l.state.SetMetatable(lua.LString(""), meta)
}

// arithmeticFallback is what happens to a string that is not a number: the other
// operand may be a table with a metamethod.
func arithmeticFallback(L *lua.LState, event string) int {
	for i := 1; i <= 2; i++ {
		v := L.Get(i)
		if _, isString := v.(lua.LString); isString {
			continue
		}
		if f := L.GetMetaField(v, event); f != lua.LNil {
			L.Push(f)
			L.Push(L.Get(1))
			L.Push(L.Get(2))
			L.Call(2, 1)
			return 1
		}
	}
	bad := L.Get(1)
	if _, ok := toNumber(bad); ok {
		bad = L.Get(2)
	}
	L.RaiseError("attempt to perform arithmetic on a %s value", bad.Type().String())
	return 0
}
