package luahost

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

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
