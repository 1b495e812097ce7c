package luahost

import (
	lua "github.com/yuin/gopher-lua"
)

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
