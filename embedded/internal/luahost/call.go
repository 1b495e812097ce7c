package luahost

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// chunkName is the name of every library's source in messages; the lines are the
// library's.
const chunkName = "user_function"

// runTopLevel compiles the source and runs it, so that it registers its functions.
func (l *Library) runTopLevel(body string) error {
	L := l.state
	proto, blocks, err := compiled.get(body, l.observer != nil)
	if err != nil {
		return errors.New("Error compiling function: " + err.Error())
	}
	l.loading, l.blocks = true, slices.Clone(blocks)
	l.budget.start(loadSteps, timeoutText)
	defer func() {
		l.loading = false
		l.env.see(l.env.globals)
	}()
	L.Push(l.chunk(proto))
	if err := L.PCall(0, 0, l.handler); err != nil {
		return errors.New("Error registering functions: " + l.errorText(err))
	}
	l.bind(proto)
	if l.observer != nil {
		l.observer.Loaded(l.Name, l.blocks)
	}
	return nil
}

// Call runs a function as FCALL does. fn is the registered name. Errors are error
// replies; the text of a raised one ends in " script: <fn>, on @user_function:<line>."
func (l *Library) Call(fn string, keys, args []string, h Host) reply.Value {
	f := l.callbacks[fn]
	if f == nil {
		return reply.Err("ERR Function not found")
	}
	most := 0
	if l.observer != nil {
		most = l.observer.Called(l.Name, fn, keys, args)
	}
	return l.run(fn, f, most, [][]string{keys, args}, h)
}

// run calls a function with lists of texts. It may take so many instructions; 0: any number.
func (l *Library) run(name string, f *lua.LFunction, most int, lists [][]string, h Host) reply.Value {
	L := l.state
	l.nested = 1
	l.raisedAt = ""
	l.host, l.inHost, l.resp3 = h, false, false
	l.statuses.used = 0
	l.budget.start(uint32(most), "stopped after "+strconv.Itoa(most)+" instructions")
	L.Push(f)
	for _, texts := range lists {
		L.Push(list(L, texts))
	}
	err := L.PCall(len(lists), 1, l.locate)
	l.host = nil
	if l.observer != nil {
		l.observer.Ended(l.budget.taken())
	}
	if err != nil {
		if l.inHost { // the host's own bug: it is not the script's error
			panic(err)
		}
		return l.raised(name, err)
	}
	result := L.Get(-1)
	L.Pop(1)
	return l.toReply(result, 0)
}

func list(L *lua.LState, texts []string) *lua.LTable {
	t := L.CreateTable(len(texts), 0)
	for _, s := range texts {
		t.Append(lua.LString(s))
	}
	return t
}

// raised is the reply for an uncaught error.
func (l *Library) raised(fn string, err error) reply.Value {
	text := l.errorText(err)
	if where, found := strings.CutSuffix(l.raisedAt, ": "); found {
		text += " script: " + fn + ", on @" + where + "."
	}
	return reply.Err(oneLine(text))
}

// errorText is the text of a raised error, with its code.
func (l *Library) errorText(err error) string {
	if l.budget.stopped != "" {
		return "ERR " + l.budget.stopped
	}
	var fault *lua.ApiError
	if !errors.As(err, &fault) {
		return "ERR " + err.Error()
	}
	if t, ok := fault.Object.(*lua.LTable); ok {
		if text, ok := toText(l.env.behind(t).RawGetString("err")); ok {
			return text
		}
		return "ERR unknown error"
	}
	return "ERR " + reworded(l.tostring(l.state, fault.Object))
}

// oneLine keeps a text from breaking the protocol, as Redis 8 does.
func oneLine(text string) string {
	text = strings.Trim(text, "\r\n")
	if strings.ContainsAny(text, "\r\n") {
		text = strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
	}
	return text
}
