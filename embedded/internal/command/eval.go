package command

import (
	"slices"

	"github.com/rlfunc/rlfunc/embedded/internal/luahost"
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

var evalCommands = []Command{
	{Name: "eval", Arity: -3, Flags: NoScript, KeysAt: 2, Run: eval},
	{Name: "eval_ro", Arity: -3, Flags: NoScript | ReadOnly, KeysAt: 2, Run: eval},
	{Name: "evalsha", Arity: -3, Flags: NoScript, KeysAt: 2, Run: evalSHA},
	{Name: "evalsha_ro", Arity: -3, Flags: NoScript | ReadOnly, KeysAt: 2, Run: evalSHA},
	{Name: "script", Arity: -2, Flags: NoScript},
	{Name: "script|load", Arity: 3, Flags: NoScript, Run: scriptLoad},
	{Name: "script|exists", Arity: -3, Flags: NoScript, Run: scriptExists},
	{Name: "script|flush", Arity: -2, Flags: NoScript, Run: scriptFlush},
	{Name: "script|kill", Arity: 2, Flags: NoScript | AllowBusy, Run: func(c *Call) reply.Value { return c.State.Kill(true) }},
}

var errNoScript = failure("NOSCRIPT No matching script. Please use EVAL.")

// eval is EVAL and EVAL_RO.
func eval(c *Call) reply.Value {
	script := c.State.scripts.Find(luahost.ScriptSHA(c.Args[1]))
	if script == nil {
		// A script that may not run is not compiled either.
		if flags, old, err := luahost.ScriptFlags(c.Args[1]); err == nil && !old {
			if problem := c.permit(scriptFlags(flags)); problem.Kind == reply.Error {
				return problem
			}
		}
	}
	keys, args, problem := c.splitKeys(errNotInt)
	if problem.Kind == reply.Error {
		return problem
	}
	if script == nil {
		var err error
		if script, err = c.State.scripts.Load(c.Args[1], false); err != nil {
			return refusal(err)
		}
	}
	return c.runScript(script, keys, args)
}

// evalSHA is EVALSHA and EVALSHA_RO.
func evalSHA(c *Call) reply.Value {
	script := c.State.scripts.Find(c.Args[1])
	if script == nil && len(c.Args[1]) != len("da39a3ee5e6b4b0d3255bfef95601890afd80709") {
		return errNoScript
	}
	keys, args, problem := c.splitKeys(errNotInt)
	switch {
	case problem.Kind == reply.Error:
		return problem
	case script == nil:
		return errNoScript
	}
	return c.runScript(script, keys, args)
}

// runScript runs a script of the cache. One without a first line of flags may start over maxmemory and as EVAL_RO: its commands are refused.
func (c *Call) runScript(s *luahost.Script, keys, args []string) reply.Value {
	flags := scriptFlags(s.Flags)
	if s.Old {
		flags = flagsOfScript{noWrites: c.readOnlyName(), old: true}
	} else if problem := c.permit(flags); problem.Kind == reply.Error {
		return problem
	}
	lua := c.State.scripts.State()
	return c.perform(lua, s.SHA, flags, keys, func(h *script) reply.Value { return lua.Eval(s, keys, args, h) })
}

func scriptLoad(c *Call) reply.Value {
	script, err := c.State.scripts.Load(c.Args[2], true)
	if err != nil {
		return refusal(err)
	}
	return bulk(script.SHA)
}

func scriptExists(c *Call) reply.Value {
	values := make([]reply.Value, len(c.Args)-2)
	for i, sha := range c.Args[2:] {
		values[i] = truth(c.State.scripts.Find(sha) != nil)
	}
	return array(values)
}

func scriptFlush(c *Call) reply.Value {
	if len(c.Args) > 3 || len(c.Args) == 3 && !slices.Contains([]string{"sync", "async"}, lower(c.Args[2])) {
		return failure("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
	}
	c.State.scripts.Flush()
	return okay
}
