// Package luahost is the Lua side of Redis Functions: it loads a library's
// source as FUNCTION LOAD does, and runs its functions as FCALL does.
//
// The interpreter is gopher-lua. Where it differs from the Lua 5.1 inside Redis
// it is mended, by rewritten library functions and by rewriting the syntax
// tree before it is compiled. The tables of lua_test/parity say what is left, and these no snippet shows:
//   - pairs visits names in the order of their first assignment, and positions before them, so cjson and cmsgpack write maps in that order;
//   - a table with an index up to 67108864 has all places below it: t[5e7] = 1 takes 800 MB;
//   - a function that loads fewer than 200 locals may not compile when its expressions need the registers: gopher-lua has 200 of both;
//   - Lua calls nest 20000 deep, in Redis 16384 before the first overflow of a server;
//   - a status reply that a function keeps in a library-level local is lent again;
//   - math.random has its own sequence for each library, not for each server;
//   - library functions other than those of string patterns cannot be stopped by Kill while they run, only the Lua around them;
//   - what crashes real servers does not crash here: error({}) answers "ERR unknown error", redis.register_function() an error.
//
// Nothing here knows of keys, commands or clocks: those are the [Host]'s.
package luahost

import (
	"errors"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
)

// Version is what a script sees as redis.REDIS_VERSION. The behaviour is that
// of 7.2: numbers given to redis.call are printed in their shortest form.
const (
	Version    = "7.2.0"
	VersionNum = 7<<16 | 2<<8
)

// The levels of redis.log.
const (
	LogDebug = iota
	LogVerbose
	LogNotice
	LogWarning
)

// Host is the server that a function runs on. It is given for each call.
type Host interface {
	// Call runs one command for redis.call or redis.pcall. args[0] is the command's
	// name; the slice is valid during the call only, its strings always. An error
	// reply carries its code; the texts for unknown commands and wrong arity inside
	// of scripts are the host's too.
	Call(args []string) resp.Value
	// Log takes one line of redis.log, at one of the levels LogDebug to LogWarning.
	Log(level int, text string)
	// Allowed answers redis.acl_check_cmd: whether the caller may run args. Known is false if there is no such command.
	Allowed(args []string) (allowed, known bool)
	// KeysOf tells an Observer which keys a command names, how many elements they hold, and whether it may write. Of a list the number is that
	// of the elements which the command looks at.
	KeysOf(args []string) (keys []string, sizes []int, write bool)
}

// Function is one registered function of a library.
type Function struct {
	Name        string
	Description string   // empty if none was given
	Flags       []string // of no-writes, allow-oom, allow-stale, no-cluster, allow-cross-slot-keys, in this order
}

// Library is one loaded library with its own Lua state, which lives as long as
// the library: what its top-level locals hold persists from call to call, as on
// a real node. It is not safe for concurrent use, except for Kill.
type Library struct {
	Name      string
	Code      string // the source as it was given, byte for byte
	Functions []Function

	state     *lua.LState
	callbacks map[string]*lua.LFunction
	env       *environment
	budget    budget
	random    rand48
	observer  Observer // or nil
	blocks    []Block  // for the observer

	host     Host     // of the running call, else nil
	inHost   bool     // Host.Call is running; still set after it panicked
	argv     []string // reused by redis.call
	statuses statuses // reused by replies such as OK
	handler  *lua.LFunction
	locate   *lua.LFunction
	nested   int    // protected calls that run
	raisedAt string // where the last error that nothing caught was raised, as "user_function:3: "
	loading  bool
}

// Load runs the top level of a library. The error's text is what Redis answers
// after "ERR ". A name that another library has already taken is the server's to
// refuse, not Load's. An observer may be nil.
func Load(code string, observer Observer) (*Library, error) {
	head, err := readHead(code)
	if err != nil {
		return nil, err
	}
	l := &Library{Name: head.name, Code: code, observer: observer, callbacks: map[string]*lua.LFunction{}, random: newRand48()}
	l.open()
	if err := l.runTopLevel(head.body); err != nil {
		return nil, err
	}
	if len(l.Functions) == 0 {
		return nil, errors.New("No functions registered")
	}
	return l, nil
}

// Name reads a library's name from its first line, and runs nothing. The error is that of Load.
func Name(code string) (string, error) {
	head, err := readHead(code)
	return head.name, err
}

func readHead(code string) (head metadata, err error) {
	if head, err = parseMetadata(code); err != nil {
		return head, err
	}
	if !validName(head.name) {
		return head, errBadName
	}
	if !strings.EqualFold(head.engine, "lua") {
		return head, errors.New("Engine '" + head.engine + "' not found")
	}
	return head, nil
}

// Kill stops the running call, as FUNCTION KILL does; the call then answers an
// error. It may be called from any goroutine, and does nothing between calls.
// Whether the call has already written is the server's to know.
func (l *Library) Kill() { l.budget.killed.Store(true) }

// OnSlow has f called once in the next call, when that has run for a while. It is called on the goroutine of the call, between two
// instructions and never within Host.Call.
func (l *Library) OnSlow(after time.Duration, f func()) { l.budget.slowAfter, l.budget.slow = after, f }

// The limits of a Lua state. Lua-to-Lua calls nest up to callDepth, and protected calls, which
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
	modules := map[string]*lua.LTable{
		"string":   l.newString(),
		"table":    l.newTable(),
		"math":     l.newMath(),
		"bit":      l.newBit(),
		"struct":   l.newStruct(),
		"cjson":    l.newCJSON(),
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
