package luahost

import (
	"errors"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// flagNames are the flags of a function, in the order in which Redis lists them.
var flagNames = []string{"no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"}

// newLibraryAPI is the table "redis" of a library's top level.
func (l *Library) newLibraryAPI() *lua.LTable {
	t := l.module(map[string]func(c call) int{
		"log":               l.redisLog,
		"register_function": l.registerFunction,
	})
	constants(t)
	t.Metatable = l.env.library.Metatable
	return t
}

// registration is one call of redis.register_function.
type registration struct {
	name, description string
	named             bool
	flags             []string
	callback          *lua.LFunction
}

func (l *Library) registerFunction(c call) int {
	if !l.loading {
		throw(c.LState, "redis.register_function can only be called on FUNCTION LOAD command")
	}
	var r registration
	problem := ""
	switch c.GetTop() {
	case 1:
		problem = r.fromTable(l, c.Get(1))
	case 2:
		problem = r.fromPair(c.Get(1), c.Get(2))
	default:
		problem = "wrong number of arguments to redis.register_function"
	}
	switch {
	case problem != "":
	case !validName(r.name):
		problem = errBadName.Error()
	case l.callbacks[r.name] != nil:
		problem = "Function already exists in the library"
	}
	if problem != "" {
		throw(c.LState, problem)
	}
	l.callbacks[r.name] = r.callback
	l.Functions = append(l.Functions, Function{Name: r.name, Description: r.description, Flags: r.flags})
	return 0
}

func (r *registration) fromPair(name, callback lua.LValue) (problem string) {
	if r.name, r.named = toText(name); !r.named {
		return "first argument to redis.register_function must be a string"
	}
	var ok bool
	if r.callback, ok = callback.(*lua.LFunction); !ok {
		return "second argument to redis.register_function must be a function"
	}
	return ""
}

func (r *registration) fromTable(l *Library, v lua.LValue) (problem string) {
	t, ok := v.(*lua.LTable)
	if !ok {
		return "calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments)."
	}
	t = l.env.behind(t)
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		key, ok := toText(k)
		if !ok {
			return "named argument key given to redis.register_function is not a string"
		}
		if problem := r.set(key, v); problem != "" {
			return problem
		}
	}
	if !r.named {
		return "redis.register_function must get a function name argument"
	}
	if r.callback == nil {
		return "redis.register_function must get a callback argument"
	}
	return ""
}

func (r *registration) set(key string, v lua.LValue) (problem string) {
	var ok bool
	switch strings.ToLower(key) {
	case "function_name":
		if r.name, r.named = toText(v); !r.named {
			return "function_name argument given to redis.register_function must be a string"
		}
	case "description":
		if r.description, ok = toText(v); !ok {
			return "description argument given to redis.register_function must be a string"
		}
	case "callback":
		if r.callback, ok = v.(*lua.LFunction); !ok {
			return "callback argument given to redis.register_function must be a function"
		}
	case "flags":
		flags, ok := v.(*lua.LTable)
		if !ok {
			return "flags argument to redis.register_function must be a table representing function flags"
		}
		if r.flags, ok = readFlags(flags); !ok {
			return "unknown flag given"
		}
	default:
		return "unknown argument given to redis.register_function"
	}
	return ""
}

func readFlags(t *lua.LTable) (flags []string, ok bool) {
	given := map[string]bool{}
	for i := 1; ; i++ {
		v := t.RawGetInt(i)
		if v == lua.LNil {
			break
		}
		text, _ := toText(v)
		given[strings.ToLower(text)] = true
	}
	for _, name := range flagNames {
		if given[name] {
			flags = append(flags, name)
			delete(given, name)
		}
	}
	return flags, len(given) == 0
}

var errBadName = errors.New("Library names can only contain letters, numbers, or underscores(_) and must be at least one character long")

type metadata struct {
	engine, name string
	body         string // from the line feed after the shebang on, so that lines keep their numbers
}

// parseMetadata reads the first line, "#!lua name=x".
func parseMetadata(code string) (metadata, error) {
	if !strings.HasPrefix(code, "#!") {
		return metadata{}, errors.New("Missing library metadata")
	}
	end := strings.IndexByte(code, '\n')
	if end < 0 {
		return metadata{}, errors.New("Invalid library metadata")
	}
	parts := strings.Fields(code[:end])
	m := metadata{engine: parts[0][2:], body: code[end:]}
	named := false
	for _, part := range parts[1:] {
		if len(part) < 5 || !strings.EqualFold(part[:5], "name=") {
			return metadata{}, errors.New("Invalid metadata value given: " + part)
		}
		if named {
			return metadata{}, errors.New("Invalid metadata value, name argument was given multiple times")
		}
		m.name, named = part[5:], true
	}
	if !named {
		return metadata{}, errors.New("Library name was not given")
	}
	return m, nil
}

// validName is the rule for libraries and functions alike.
func validName(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_') {
			return false
		}
	}
	return name != ""
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
