package luahost

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
)

// maxReplyDepth is how deep tables may nest in a reply; a real server runs out of
// Lua stack at about this depth.
const maxReplyDepth = 7990

// toLua converts the reply of a command.
func (l *Library) toLua(v *resp.Value) lua.LValue {
	switch v.Kind {
	case resp.Int:
		return lua.LNumber(v.Int)
	case resp.Bulk:
		return lua.LString(v.Str)
	case resp.Status:
		return l.statuses.table(v.Str)
	case resp.Error:
		return errorTable(v.Str)
	case resp.Array:
		t := l.state.CreateTable(len(v.Array), 0)
		for i := range v.Array {
			t.RawSetInt(i+1, l.toLua(&v.Array[i]))
		}
		return t
	case resp.Nil, resp.NilArray:
		return lua.LFalse
	}
	plain := v.RESP2()
	return l.toLua(&plain)
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
func (l *Library) toReply(v lua.LValue, depth int) resp.Value {
	switch v := v.(type) {
	case lua.LString:
		return resp.Text(string(v))
	case lua.LNumber:
		return resp.Integer(toInteger(float64(v)))
	case lua.LBool:
		if v {
			return resp.Integer(1)
		}
	case *lua.LTable:
		if depth >= maxReplyDepth {
			return resp.Err("ERR reached lua stack limit")
		}
		return l.tableReply(l.env.behind(v), depth)
	}
	return resp.Null
}

func (l *Library) tableReply(t *lua.LTable, depth int) resp.Value {
	if v, ok := l.specialReply(t, depth); ok {
		return v
	}
	n := t.Len()
	values := make([]resp.Value, 0, n)
	for i := 1; ; i++ {
		v := t.RawGetInt(i)
		if v == lua.LNil {
			return resp.Value{Kind: resp.Array, Array: values}
		}
		values = append(values, l.toReply(v, depth+1))
	}
}

// specialReply answers the tables with a named meaning.
func (l *Library) specialReply(t *lua.LTable, depth int) (resp.Value, bool) {
	if text, ok := t.RawGetString("err").(lua.LString); ok {
		return resp.Err(oneLine(cString(string(text)))), true
	}
	if text, ok := t.RawGetString("ok").(lua.LString); ok {
		return resp.Simple(blanks.Replace(cString(string(text)))), true
	}
	if n, ok := t.RawGetString("double").(lua.LNumber); ok {
		return resp.Value{Kind: resp.Double, Str: formatDouble(float64(n))}, true
	}
	if text, ok := t.RawGetString("big_number").(lua.LString); ok {
		return resp.Value{Kind: resp.Big, Str: blanks.Replace(string(text))}, true
	}
	if verbatim, ok := t.RawGetString("verbatim_string").(*lua.LTable); ok {
		format, ok := verbatim.RawGetString("format").(lua.LString)
		text, ok2 := verbatim.RawGetString("string").(lua.LString)
		if ok && ok2 {
			return resp.Value{Kind: resp.Verbatim, Str: (string(format) + "   ")[:3] + ":" + string(text)}, true
		}
	}
	for _, kind := range [...]resp.Kind{resp.Map, resp.Set} {
		name := "map"
		if kind == resp.Set {
			name = "set"
		}
		members, ok := t.RawGetString(name).(*lua.LTable)
		if !ok {
			continue
		}
		values := []resp.Value{}
		for k, v := members.Next(lua.LNil); k != lua.LNil; k, v = members.Next(k) {
			values = append(values, l.toReply(k, depth+1))
			if kind == resp.Map {
				values = append(values, l.toReply(v, depth+1))
			}
		}
		return resp.Of(kind, values...), true
	}
	return resp.Value{}, false
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
