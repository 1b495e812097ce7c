package luahost

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// environment is what global names mean. As on a real server all tables of the
// environment are read-only. gopher-lua has no such tables: scripts hold empty
// stand-ins, whose reads go on to the real table and whose writes raise an error.
type environment struct {
	table   *lua.LTable // the stand-in that chunks have as their globals, also _G
	meta    *lua.LTable // of table
	globals *lua.LTable // what functions see
	library *lua.LTable // what the top level of a library sees
	real    map[*lua.LTable]*lua.LTable
	refuse  *lua.LFunction // __newindex of every stand-in
}

// absent are globals of Redis that are missing here: rlfunc vet refuses them in functions.
var absent = []string{"collectgarbage", "coroutine", "gcinfo", "load", "loadstring", "os"}

const readOnly = "Attempt to modify a readonly table"

func newEnvironment(L *lua.LState) *environment {
	e := &environment{
		table:   L.CreateTable(0, 2),
		meta:    L.CreateTable(0, 2),
		globals: L.CreateTable(0, 64),
		library: L.CreateTable(0, 1),
		real:    map[*lua.LTable]*lua.LTable{},
	}
	e.refuse = L.NewFunction(func(L *lua.LState) int {
		L.RaiseError(readOnly)
		return 0
	})
	e.meta.RawSetString("__newindex", e.refuse)
	e.table.Metatable = e.meta
	strict := e.strict(L)
	e.globals.Metatable, e.library.Metatable = strict, strict
	e.real[e.table] = e.globals
	e.globals.RawSetString("_G", e.table)
	e.see(e.library)
	return e
}

// see switches between what functions and what top levels see.
func (e *environment) see(t *lua.LTable) { e.meta.RawSetString("__index", t) }

// protect makes the read-only stand-in of t.
func (e *environment) protect(t *lua.LTable) *lua.LTable {
	stand, meta := &lua.LTable{}, &lua.LTable{Metatable: lua.LNil}
	meta.RawSetString("__index", t)
	meta.RawSetString("__newindex", e.refuse)
	stand.Metatable = meta
	e.real[stand] = t
	return stand
}

// behind is the table that is meant where t may be a stand-in.
func (e *environment) behind(t *lua.LTable) *lua.LTable {
	if t.Metatable != lua.LNil {
		if real, ok := e.real[t]; ok {
			return real
		}
	}
	return t
}

// writable refuses stand-ins.
func (e *environment) writable(c call, t *lua.LTable) {
	if t.Metatable != lua.LNil {
		if _, ok := e.real[t]; ok {
			c.Error(lua.LString(readOnly), 0)
		}
	}
}

// strict is the metatable that turns reading of an unknown name into an error.
func (e *environment) strict(L *lua.LState) *lua.LTable {
	meta := &lua.LTable{Metatable: lua.LNil}
	meta.RawSetString("__index", L.NewFunction(func(L *lua.LState) int {
		name, ok := toText(L.Get(2))
		if !ok {
			L.RaiseError("Second argument to luaProtectedTableError must be a string or number")
		}
		if slices.Contains(absent, name) {
			name += "' (the embedded engine has none, see docs/reference/embedded.md)"
		} else {
			name += "'"
		}
		L.RaiseError("Script attempted to access nonexistent global variable '%s", name)
		return 0
	}))
	return meta
}
