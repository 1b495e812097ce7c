package luahost

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
)

// newRedis is the table "redis" of a running function.
func (l *Library) newRedis() *lua.LTable {
	t := l.module(map[string]func(c call) int{
		"log":           l.redisLog,
		"sha1hex":       redisSHA1,
		"error_reply":   redisErrorReply,
		"status_reply":  redisStatusReply,
		"acl_check_cmd": l.redisMayRun,
	})
	t.RawSetString("call", l.state.NewFunction(func(L *lua.LState) int { return l.redisCall(L, true) }))
	t.RawSetString("pcall", l.state.NewFunction(func(L *lua.LState) int { return l.redisCall(L, false) }))
	constants(t)
	return t
}

// constants are there at load and at run.
func constants(t *lua.LTable) {
	for name, n := range map[string]int{"LOG_DEBUG": LogDebug, "LOG_VERBOSE": LogVerbose, "LOG_NOTICE": LogNotice, "LOG_WARNING": LogWarning, "REDIS_VERSION_NUM": VersionNum} {
		t.RawSetString(name, lua.LNumber(n))
	}
	t.RawSetString("REDIS_VERSION", lua.LString(Version))
}

// throw raises {err = "ERR <text>"}, as the functions of "redis" do.
func throw(L *lua.LState, text string) { L.Error(field("err", lua.LString("ERR "+text)), 1) }

func (l *Library) redisCall(L *lua.LState, raise bool) int {
	args, problem := l.commandArgs(L)
	if problem != "" {
		t := field("err", lua.LString("ERR "+problem))
		if raise {
			L.Error(t, 1)
		}
		L.Push(t)
		return 1
	}
	if l.observer != nil {
		l.command(L, args, !raise)
	}
	l.inHost = true
	answer := l.host.Call(args)
	l.inHost = false
	if l.observer != nil {
		if answer.Kind == resp.Nil || answer.Kind == resp.NilArray {
			l.observer.Replied(0, "")
		} else {
			l.observer.Replied(elements(&answer))
		}
	}
	v := l.toLua(&answer)
	if raise && answer.IsError() {
		L.Error(v, 1)
	}
	L.Push(v)
	return 1
}

// elements counts those of a reply, each 4 KiB of a text as one, or returns its error.
func elements(v *resp.Value) (n int, failure string) {
	if v.IsError() {
		return 0, v.Str
	}
	n = 1 + len(v.Str)/4096
	for i := range v.Array {
		more, _ := elements(&v.Array[i])
		n += more
	}
	return n, ""
}

// commandArgs reads the arguments of a command; the slice is reused.
func (l *Library) commandArgs(L *lua.LState) (args []string, problem string) {
	n := L.GetTop()
	if n == 0 {
		return nil, "Please specify at least one argument for this redis lib call"
	}
	args = l.argv[:0]
	for i := 1; i <= n; i++ {
		switch v := L.Get(i).(type) {
		case lua.LString:
			args = append(args, string(v))
		case lua.LNumber:
			args = append(args, formatArgument(float64(v)))
		default:
			return nil, "Lua redis lib command arguments must be strings or integers"
		}
	}
	l.argv = args
	return args, ""
}

func (l *Library) redisLog(c call) int {
	n := c.GetTop()
	if n < 2 {
		throw(c.LState, "redis.log() requires two arguments or more.")
	}
	number, ok := toNumber(c.Get(1))
	if !ok {
		throw(c.LState, "First argument must be a number (log level).")
	}
	level := toInteger(number)
	if level < LogDebug || level > LogWarning {
		throw(c.LState, "Invalid log level.")
	}
	var b strings.Builder
	for i := 2; i <= n; i++ {
		if s, ok := toText(c.Get(i)); ok {
			if i > 2 {
				b.WriteByte(' ')
			}
			b.WriteString(s)
		}
	}
	if l.host != nil {
		l.host.Log(int(level), b.String())
	}
	return 0
}

func redisSHA1(c call) int {
	if c.GetTop() != 1 {
		throw(c.LState, "wrong number of arguments")
	}
	s, _ := toText(c.Get(1))
	sum := sha1.Sum([]byte(s))
	return c.oneText(hex.EncodeToString(sum[:]))
}

// redisErrorReply makes {err = text}; a text of one word gets the code ERR.
func redisErrorReply(c call) int {
	s, ok := c.Get(1).(lua.LString)
	if c.GetTop() != 1 || !ok {
		return c.one(field("err", lua.LString("ERR wrong number or type of arguments")))
	}
	text := cString(string(s))
	text = strings.TrimPrefix(text, "-")
	code, message, found := strings.Cut(text, " ")
	if !found {
		code, message = "ERR", text
	}
	return c.one(field("err", lua.LString(code+" "+strings.Trim(message, "\r\n"))))
}

func redisStatusReply(c call) int {
	s, ok := c.Get(1).(lua.LString)
	if c.GetTop() != 1 || !ok {
		return c.one(field("err", lua.LString("ERR wrong number or type of arguments")))
	}
	return c.one(field("ok", s))
}

func (l *Library) redisMayRun(c call) int {
	args, problem := l.commandArgs(c.LState)
	if problem != "" {
		throw(c.LState, problem)
	}
	allowed, known := l.host.Allowed(args)
	if !known {
		throw(c.LState, "Invalid command passed to redis.acl_check_cmd()")
	}
	return c.one(lua.LBool(allowed))
}

// cString is what C sees of a string.
func cString(s string) string {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return s[:i]
	}
	return s
}
