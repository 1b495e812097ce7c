package luahost

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/wire"
)

// scriptChunk is the name of every script's source in messages.
const scriptChunk = "user_script"

// A Script is a compiled script of EVAL or SCRIPT LOAD.
type Script struct {
	SHA   string // in lower case
	Flags []string
	Old   bool // no shebang line: EVAL works as before Redis 7.0, without flags
	Size  int

	fn *lua.LFunction
}

// ScriptSHA is the name of a script in the cache.
func ScriptSHA(body string) string {
	sum := sha1.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}

// NewScripts makes the Lua state that all scripts of a server share. A Library that it returns has no name and no functions.
func NewScripts() *Library {
	l := &Library{callbacks: map[string]*lua.LFunction{}, random: newRand48(), json: newJSONState()}
	l.open()
	l.env.see(l.env.globals)
	redis := l.env.behind(l.env.globals.RawGetString("redis").(*lua.LTable)) // open has made it
	for name, f := range map[string]func(c call) int{
		"breakpoint":         func(c call) int { return c.one(lua.LFalse) },
		"debug":              func(call) int { return 0 },
		"replicate_commands": func(c call) int { return c.one(lua.LTrue) },
	} {
		redis.RawSetString(name, function(l.state, name, f))
	}
	return l
}

// Compile makes a script of its source. The error's text is what Redis answers after "ERR ".
func (l *Library) Compile(body string) (*Script, error) {
	s := &Script{SHA: ScriptSHA(body), Size: len(body)}
	var err error
	if s.Flags, s.Old, err = ScriptFlags(body); err != nil {
		return nil, err
	}
	if !s.Old {
		body = body[strings.IndexByte(body, '\n'):] // the line feed stays, so that lines keep their numbers
	}
	proto, err := compileChunk(body, scriptChunk)
	if err != nil {
		return nil, errors.New("Error compiling script (new function): " + err.Error())
	}
	l.bindOne(proto)
	l.bind(proto)
	s.fn = l.chunk(proto)
	return s, nil
}

// Eval runs a script as EVAL does. Errors are error replies.
func (l *Library) Eval(s *Script, keys, args []string, h Host) reply.Value {
	globals := l.env.globals
	globals.RawSetString("KEYS", list(l.state, keys))
	globals.RawSetString("ARGV", list(l.state, args))
	v := l.run(s.SHA, s.fn, 0, nil, h)
	// A script that is compiled next must not take them for constants.
	globals.RawSetString("KEYS", lua.LNil)
	globals.RawSetString("ARGV", lua.LNil)
	return v
}

// ScriptFlags reads the first line of a script, "#!lua flags=no-writes,allow-oom". old reports that there is none.
func ScriptFlags(body string) (flags []string, old bool, err error) {
	if !strings.HasPrefix(body, "#!") {
		return nil, true, nil
	}
	end := strings.IndexByte(body, '\n')
	if end < 0 {
		return nil, false, errors.New("Invalid script shebang")
	}
	parts, ok := wire.Words(body[:end])
	switch {
	case !ok || len(parts) == 0:
		return nil, false, errors.New("Invalid engine in script shebang")
	case parts[0] != "#!lua":
		return nil, false, errors.New("Unexpected engine in script shebang: " + parts[0])
	}
	for _, part := range parts[1:] {
		list, ok := strings.CutPrefix(part, "flags=")
		if !ok {
			return nil, false, errors.New("Unknown lua shebang option: " + part)
		}
		if list == "" {
			continue
		}
		for flag := range strings.SplitSeq(list, ",") {
			if !slices.Contains(flagNames, flag) {
				return nil, false, errors.New("Unexpected flag in script shebang: " + flag)
			}
			flags = append(flags, flag)
		}
	}
	return flags, false, nil
}
