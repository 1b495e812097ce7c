package command

import (
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/embedded/internal/luahost"
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

var functionCommands = []Command{
	{Name: "fcall", Arity: -3, Flags: NoScript, KeysAt: 2, Run: fcall},
	{Name: "fcall_ro", Arity: -3, Flags: NoScript | ReadOnly, KeysAt: 2, Run: fcall},
	{Name: "function", Arity: -2, Flags: NoScript},
	{Name: "function|load", Arity: -3, Flags: NoScript | Write | DenyOOM, Run: functionLoad},
	{Name: "function|list", Arity: -2, Flags: NoScript, Run: functionList},
	{Name: "function|delete", Arity: 3, Flags: NoScript | Write, Run: functionDelete},
	{Name: "function|flush", Arity: -2, Flags: NoScript | Write, Run: functionFlush},
	{Name: "function|stats", Arity: 2, Flags: NoScript | AllowBusy, Run: functionStats},
	{Name: "function|kill", Arity: 2, Flags: NoScript | AllowBusy, Run: func(c *Call) reply.Value { return c.State.Kill(false) }},
}

func functionLoad(c *Call) reply.Value {
	replace := false
	for _, word := range c.Args[2 : len(c.Args)-1] {
		if !is(word, "replace") {
			return failure("ERR Unknown option given: " + word)
		}
		replace = true
	}
	name, err := c.State.Functions.Load(c.Args[len(c.Args)-1], replace)
	if err != nil {
		return refusal(err)
	}
	return bulk(name)
}

// refusal turns an error whose text is Redis's own into a reply.
func refusal(err error) reply.Value {
	text := err.Error()
	if !strings.HasPrefix(text, "ERR ") {
		text = "ERR " + text
	}
	return failure(text)
}

func functionList(c *Call) reply.Value {
	pattern, named, withCode := "", false, false
	for i := 2; i < len(c.Args); i++ {
		switch word := c.Args[i]; {
		case is(word, "withcode") && !withCode:
			withCode = true
		case is(word, "libraryname") && !named:
			if i++; i == len(c.Args) {
				return failure("ERR library name argument was not given")
			}
			pattern, named = c.Args[i], true
		default:
			return failure("ERR Unknown argument " + word)
		}
	}
	var values []reply.Value
	for _, l := range c.State.Functions.Libraries() {
		if named && !matches(lower(pattern), lower(l.Name)) {
			continue
		}
		values = append(values, describeLibrary(l, withCode))
	}
	return array(values)
}

func describeLibrary(l *luahost.Library, withCode bool) reply.Value {
	var list []reply.Value
	for _, f := range l.Functions {
		description := null
		if f.Description != "" {
			description = bulk(f.Description)
		}
		var flags []reply.Value
		for _, flag := range f.Flags {
			flags = append(flags, status(flag))
		}
		list = append(list, maps(bulk("name"), bulk(f.Name), bulk("description"), description, bulk("flags"), unordered(flags)))
	}
	values := []reply.Value{bulk("library_name"), bulk(l.Name), bulk("engine"), bulk("LUA"), bulk("functions"), array(list)}
	if withCode {
		values = append(values, bulk("library_code"), bulk(l.Code))
	}
	return maps(values...)
}

func functionDelete(c *Call) reply.Value {
	if err := c.State.Functions.Delete(c.Args[2]); err != nil {
		return refusal(err)
	}
	return okay
}

func functionFlush(c *Call) reply.Value {
	if len(c.Args) > 3 {
		return failure("ERR unknown subcommand or wrong number of arguments for 'flush'. Try FUNCTION HELP.")
	}
	if len(c.Args) == 3 && !is(c.Args[2], "sync") && !is(c.Args[2], "async") {
		return failure("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
	}
	c.State.Functions.Flush()
	return okay
}

// functionStats shows a running script once it is busy; before that the question waits until it has ended.
func functionStats(c *Call) reply.Value {
	running := null
	if h := &c.State.script; h.busy {
		var words []reply.Value
		for _, word := range h.command {
			words = append(words, bulk(word))
		}
		running = maps(bulk("name"), bulk(h.name), bulk("command"), array(words), bulk("duration_ms"), integer(time.Since(h.since).Milliseconds()))
	}
	return maps(
		bulk("running_script"), running,
		bulk("engines"), maps(bulk("LUA"), maps(
			bulk("libraries_count"), number(len(c.State.Functions.Libraries())),
			bulk("functions_count"), number(c.State.Functions.Len()),
		)),
	)
}
