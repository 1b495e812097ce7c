package luahost

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
	lua "github.com/yuin/gopher-lua"
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
	top := L.NewFunctionFromProto(proto)
	top.Env = l.env.table
	L.Push(top)
	if err := L.PCall(0, 0, l.handler); err != nil {
		return errors.New("Error registering functions: " + l.errorText(err))
	}
	l.bind(proto.FunctionPrototypes)
	if l.observer != nil {
		l.observer.Loaded(l.Name, l.blocks)
	}
	return nil
}

// Call runs a function as FCALL does. fn is the registered name. Errors are error
// replies; the text of a raised one ends in " script: <fn>, on @user_function:<line>."
func (l *Library) Call(fn string, keys, args []string, h Host) resp.Value {
	f := l.callbacks[fn]
	if f == nil {
		return resp.Err("ERR Function not found")
	}
	most := 0 // instructions that it may take; 0: any number
	if l.observer != nil {
		most = l.observer.Called(l.Name, fn, keys, args)
	}
	L := l.state
	l.nested = 1
	l.raisedAt = ""
	l.host, l.inHost = h, false
	l.statuses.used = 0
	l.budget.start(uint32(most), "stopped after "+strconv.Itoa(most)+" instructions")
	L.Push(f)
	L.Push(list(L, keys))
	L.Push(list(L, args))
	err := L.PCall(2, 1, l.locate)
	l.host = nil
	if l.observer != nil {
		l.observer.Ended(l.budget.taken())
	}
	if err != nil {
		if l.inHost { // the host's own bug: it is not the function's error
			panic(err)
		}
		return l.raised(fn, err)
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
func (l *Library) raised(fn string, err error) resp.Value {
	text := l.errorText(err)
	if where, found := strings.CutSuffix(l.raisedAt, ": "); found {
		text += " script: " + fn + ", on @" + where + "."
	}
	return resp.Err(oneLine(text))
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

// blanks keeps a text from breaking the protocol, as Redis 8 does.
var blanks = strings.NewReplacer("\r", " ", "\n", " ")

func oneLine(text string) string { return blanks.Replace(strings.Trim(text, "\r\n")) }

// loadSteps is how many instructions the top level of a library may take, which Redis bounds by 500 ms. The clock does not decide,
// because on a busy machine a good library may take longer.
const loadSteps = 1_000_000

const (
	killedText  = "Script killed by user with SCRIPT KILL..."
	timeoutText = "FUNCTION LOAD timeout"
)

// budget makes a running call stoppable. To the interpreter it is a context whose
// taken is how many steps a call took, and above its limit if that stopped it.
func (b *budget) taken() int {
	if b.stopped != "" {
		return int(b.most) + 1
	}
	return int(b.steps)
}

// Done is asked before each instruction; it counts these and looks at the flag
// and the clock only now and then, so an instruction pays for a counter.
//
// Once it stops a call it stops every further instruction, so that a pcall in
// the script cannot catch it and go on.
type budget struct {
	steps   uint32
	most    uint32 // steps; 0: any number
	over    string // what to say when they are over
	stopped string // why, empty while running
	killed  atomic.Bool

	// slow is called once the call has run for slowAfter, between two instructions.
	slow      func()
	slowAfter time.Duration // 0: never
	slowAt    time.Time     // zero: not known before the first look
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// start begins a call or a load, which takes at most so many steps; over says what stopped it then.
func (b *budget) start(most uint32, over string) {
	b.steps, b.most, b.over, b.stopped = 0, most, over, ""
	b.slowAt = time.Time{}
	b.killed.Store(false)
}

// Done is asked before each instruction.
func (b *budget) Done() <-chan struct{} {
	if b.steps++; b.steps&0x3ff != 0 {
		return nil
	}
	return b.look()
}

func (b *budget) look() <-chan struct{} {
	switch {
	case b.stopped != "":
	case b.killed.Load():
		b.stopped = killedText
	case b.most > 0 && b.steps > b.most:
		b.stopped = b.over
	default:
		if b.slowAfter > 0 {
			b.lookAtClock()
		}
		return nil
	}
	b.steps = 0x3ff // look again before the next instruction
	return closed
}

func (b *budget) lookAtClock() {
	switch now := time.Now(); {
	case b.slowAt.IsZero():
		b.slowAt = now.Add(b.slowAfter)
	case now.After(b.slowAt):
		b.slowAfter = 0
		b.slow()
	}
}

// Err, Deadline and Value complete the context.
func (b *budget) Err() error { return errors.New(b.stopped) }

// Deadline returns none.
func (b *budget) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value holds nothing.
func (b *budget) Value(any) any { return nil }

var _ context.Context = (*budget)(nil)
