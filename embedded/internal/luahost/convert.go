package luahost

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// maxReplyDepth is how deep tables may nest in a reply; a real server runs out of
// Lua stack at about this depth.
const maxReplyDepth = 7990

// toLua converts the reply of a command.
func (l *Library) toLua(v *reply.Value) lua.LValue {
	switch v.Kind {
	case reply.Int:
		return lua.LNumber(v.Int)
	case reply.Bulk:
		return lua.LString(v.Str)
	case reply.Status:
		return l.statuses.table(v.Str)
	case reply.Error:
		return errorTable(v.Str)
	case reply.Array:
		t := l.state.CreateTable(len(v.Array), 0)
		for i := range v.Array {
			t.RawSetInt(i+1, l.toLua(&v.Array[i]))
		}
		return t
	case reply.Nil, reply.NilArray:
		if l.resp3 {
			return lua.LNil
		}
		return lua.LFalse
	}
	if l.resp3 {
		return l.toLua3(v.RESP3())
	}
	plain := v.RESP2()
	return l.toLua(&plain)
}

// toLua3 converts the shapes that RESP3 alone has.
func (l *Library) toLua3(v reply.Value) lua.LValue {
	switch v.Kind {
	case reply.Double:
		n, _ := parseNumber(v.Str)
		return field("double", lua.LNumber(n))
	case reply.Big:
		return field("big_number", lua.LString(v.Str))
	case reply.Bool:
		return lua.LBool(v.Int != 0)
	case reply.Verbatim:
		t := field("format", lua.LString(v.Str[:len("txt")]))
		t.RawSetString("string", lua.LString(v.Str[len("txt:"):]))
		return field("verbatim_string", t)
	case reply.Map:
		t := l.state.CreateTable(0, len(v.Array)/2)
		for i := 0; i+1 < len(v.Array); i += 2 {
			t.RawSet(l.toLua(&v.Array[i]), l.toLua(&v.Array[i+1]))
		}
		return field("map", t)
	case reply.Set:
		t := l.state.CreateTable(0, len(v.Array))
		for i := range v.Array {
			t.RawSet(l.toLua(&v.Array[i]), lua.LTrue)
		}
		return field("set", t)
	}
	return l.toLua(&v)
}

// errorTable is what a script gets for an error reply of a command.
func errorTable(text string) *lua.LTable {
	t := field("err", lua.LString(text))
	t.RawSetString("ignore_error_stats_update", lua.LTrue)
	return t
}

// field is the table {name = value}.
func field(name string, value lua.LValue) *lua.LTable {
	t := &lua.LTable{Metatable: lua.LNil}
	t.RawSetString(name, value)
	return t
}

// toReply converts what a function returned. Each level of a table is asked for
// err, ok, double, big_number, verbatim_string, map and set before it is taken
// for an array, which ends before its first nil.
func (l *Library) toReply(v lua.LValue, depth int) reply.Value {
	switch v := v.(type) {
	case lua.LString:
		return reply.Text(string(v))
	case lua.LNumber:
		return reply.Integer(toInteger(float64(v)))
	case lua.LBool:
		if l.resp3 {
			return reply.Value{Kind: reply.Bool, Int: truth(bool(v))}
		}
		if v {
			return reply.Integer(1)
		}
	case *lua.LTable:
		if depth >= maxReplyDepth {
			return reply.Err("ERR reached lua stack limit")
		}
		return l.tableReply(l.env.behind(v), depth)
	}
	return reply.Null
}

func (l *Library) tableReply(t *lua.LTable, depth int) reply.Value {
	if v, ok := l.specialReply(t, depth); ok {
		return v
	}
	n := t.Len()
	values := make([]reply.Value, 0, n)
	for i := 1; ; i++ {
		v := t.RawGetInt(i)
		if v == lua.LNil {
			return reply.Value{Kind: reply.Array, Array: values}
		}
		values = append(values, l.toReply(v, depth+1))
	}
}

// specialReply answers the tables with a named meaning.
func (l *Library) specialReply(t *lua.LTable, depth int) (reply.Value, bool) {
	if text, ok := t.RawGetString("err").(lua.LString); ok {
		return reply.Err(oneLine(cString(string(text)))), true
	}
	if text, ok := t.RawGetString("ok").(lua.LString); ok {
		return reply.Simple(spaced(cString(string(text)))), true
	}
	if n, ok := t.RawGetString("double").(lua.LNumber); ok {
		return reply.Value{Kind: reply.Double, Str: formatDouble(float64(n))}, true
	}
	if text, ok := t.RawGetString("big_number").(lua.LString); ok {
		return reply.Value{Kind: reply.Big, Str: spaced(string(text))}, true
	}
	if verbatim, ok := t.RawGetString("verbatim_string").(*lua.LTable); ok {
		format, ok := verbatim.RawGetString("format").(lua.LString)
		text, ok2 := verbatim.RawGetString("string").(lua.LString)
		if ok && ok2 {
			return reply.Value{Kind: reply.Verbatim, Str: (string(format) + "   ")[:3] + ":" + string(text)}, true
		}
	}
	for _, kind := range [...]reply.Kind{reply.Map, reply.Set} {
		name := "map"
		if kind == reply.Set {
			name = "set"
		}
		members, ok := t.RawGetString(name).(*lua.LTable)
		if !ok {
			continue
		}
		values := []reply.Value{}
		for k, v := members.Next(lua.LNil); k != lua.LNil; k, v = members.Next(k) {
			values = append(values, l.toReply(k, depth+1))
			if kind == reply.Map {
				values = append(values, l.toReply(v, depth+1))
			}
		}
		return reply.Of(kind, values...), true
	}
	return reply.Value{}, false
}

// truth is a boolean of RESP3.
func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// formatDouble is how a {double=} arrives.
func formatDouble(n float64) string {
	if s, special := formatSpecial(n); special {
		if s == "-nan" {
			return "nan"
		}
		return s
	}
	return formatArgument(n)
}

func spaced(s string) string {
	b := []byte(nil)
	for i := 0; i < len(s); i++ {
		if s[i] == '\r' || s[i] == '\n' {
			if b == nil {
				b = []byte(s)
			}
			b[i] = ' '
		}
	}
	if b == nil {
		return s
	}
	return string(b)
}

// statuses lends the tables for status replies. SET and its like answer OK on each
// call, and a fresh table with its three maps costs more than the command. Within
// a call each reply has a table of its own; in the next call they are lent again,
// unless the script has changed them.
type statuses struct {
	pool [8]*lua.LTable
	used int
}

func (s *statuses) table(text string) *lua.LTable {
	if text != "OK" || s.used == len(s.pool) {
		return field("ok", lua.LString(text))
	}
	t := s.pool[s.used]
	if t == nil || !isOK(t) {
		t = field("ok", lua.LString(text))
		s.pool[s.used] = t
	}
	s.used++
	return t
}

// isOK reports whether t is still {ok='OK'} and nothing else.
func isOK(t *lua.LTable) bool {
	if t.Metatable != lua.LNil || t.RawGetString("ok") != lua.LString("OK") {
		return false
	}
	first, _ := t.Next(lua.LNil)
	if first != lua.LString("ok") {
		return false
	}
	next, _ := t.Next(first)
	return next == lua.LNil
}
