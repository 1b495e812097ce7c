package luahost

import lua "github.com/yuin/gopher-lua"

type jsonState struct{}

func newJSONState() jsonState { return jsonState{} }

var jsonNull = &lua.LUserData{Metatable: lua.LNil}

func (l *Library) newStruct() *lua.LTable      { return l.module(nil) }
func (l *Library) newCJSON() *lua.LTable       { return l.module(nil) }
func (l *Library) newMessagePack() *lua.LTable { return l.module(nil) }
