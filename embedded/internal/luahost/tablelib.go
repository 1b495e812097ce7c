package luahost

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func (l *Library) newTable() *lua.LTable {
	return l.module(map[string]func(c call) int{
		"concat": l.tableConcat,
		"insert": l.tableInsert,
		"maxn":   l.tableMaxN,
		"remove": l.tableRemove,
		"sort":   l.tableSort,
	})
}

func (l *Library) tableConcat(c call) int {
	t := l.env.behind(c.table(1))
	separator, i := c.optText(2, ""), c.optCInt(3, 1)
	last := c.optCInt(4, t.Len())
	var b strings.Builder
	for first := i; i <= last; i++ {
		v := t.RawGet(lua.LNumber(i))
		s, ok := toText(v)
		if !ok {
			c.fail("invalid value (%s) at index %d in table for 'concat'", v.Type().String(), i)
		}
		if n, isNumber := v.(lua.LNumber); isNumber {
			l.lossy(c.LState, float64(n), s, false)
		}
		if i > first {
			b.WriteString(separator)
		}
		b.WriteString(s)
	}
	return c.oneText(b.String())
}

func call2(c call, f *lua.LFunction, a, b lua.LValue) lua.LValue {
	c.Push(f)
	c.Push(a)
	c.Push(b)
	c.Call(2, 1)
	v := c.Get(-1)
	c.Pop(1)
	return v
}

func (l *Library) tableMaxN(c call) int {
	t, most := l.env.behind(c.table(1)), lua.LNumber(0)
	for k, _ := t.Next(lua.LNil); k != lua.LNil; k, _ = t.Next(k) {
		if n, ok := k.(lua.LNumber); ok && n > most {
			most = n
		}
	}
	return c.one(most)
}

func (l *Library) tableInsert(c call) int {
	t := c.table(1)
	l.env.writable(c, t)
	end := t.Len() + 1
	switch c.GetTop() {
	case 2:
		t.RawSetInt(end, c.Get(2))
	case 3:
		at := c.cInt(2)
		for i := max(end, at); i > at; i-- {
			t.RawSet(lua.LNumber(i), t.RawGet(lua.LNumber(i-1)))
		}
		t.RawSet(lua.LNumber(at), c.Get(3))
	default:
		c.fail("wrong number of arguments to 'insert'")
	}
	return 0
}

func (l *Library) tableRemove(c call) int {
	t := c.table(1)
	l.env.writable(c, t)
	end := t.Len()
	at := c.optCInt(2, end)
	if at < 1 || at > end {
		return 0
	}
	removed := t.RawGetInt(at)
	for ; at < end; at++ {
		t.RawSetInt(at, t.RawGetInt(at+1))
	}
	t.RawSetInt(end, lua.LNil)
	return c.one(removed)
}

// tableSort is the quicksort of Lua 5.1, step by step, so that elements which are
// equal to the comparison end up in the same order.
func (l *Library) tableSort(c call) int {
	t := c.table(1)
	l.env.writable(c, t)
	s := sorter{call: c, t: t}
	if !c.absent(2) {
		s.less = c.function(2)
	}
	s.sort(1, t.Len())
	return 0
}

type sorter struct {
	call
	t    *lua.LTable
	less *lua.LFunction
}

func (s *sorter) at(i int) lua.LValue { return s.t.RawGetInt(i) }

func (s *sorter) swap(i, j int) {
	a, b := s.at(i), s.at(j)
	s.t.RawSetInt(i, b)
	s.t.RawSetInt(j, a)
}

func (s *sorter) before(a, b lua.LValue) bool {
	if s.less == nil {
		if a.Type() != b.Type() {
			s.Error(lua.LString("attempt to compare "+a.Type().String()+" with "+b.Type().String()), 0)
		}
		return s.LessThan(a, b)
	}
	return lua.LVAsBool(call2(s.call, s.less, a, b))
}

func (s *sorter) sort(low, high int) {
	for low < high {
		if s.before(s.at(high), s.at(low)) {
			s.swap(low, high)
		}
		if high-low == 1 {
			return
		}
		middle := (low + high) / 2
		if s.before(s.at(middle), s.at(low)) {
			s.swap(middle, low)
		} else if s.before(s.at(high), s.at(middle)) {
			s.swap(middle, high)
		}
		if high-low == 2 {
			return
		}
		pivot := s.at(middle)
		s.swap(middle, high-1)
		i := s.partition(low, high, pivot)
		s.swap(high-1, i)
		if i-low < high-i {
			s.sort(low, i-1)
			low = i + 1
		} else {
			s.sort(i+1, high)
			high = i - 1
		}
	}
}

func (s *sorter) partition(low, high int, pivot lua.LValue) int {
	i, j := low, high-1
	for {
		for i++; s.before(s.at(i), pivot); i++ {
			if i > high {
				s.fail("invalid order function for sorting")
			}
		}
		for j--; s.before(pivot, s.at(j)); j-- {
			if j < low {
				s.fail("invalid order function for sorting")
			}
		}
		if j < i {
			return i
		}
		s.swap(i, j)
	}
}
