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

// fcall is FCALL and FCALL_RO.
func fcall(c *Call) reply.Value {
	f := c.State.Functions.Find(c.Args[1])
	if f == nil {
		return failure("ERR Function not found")
	}
	keys, args, problem := c.splitKeys(failure("ERR Bad number of keys provided"))
	if problem.Kind == reply.Error {
		return problem
	}
	if problem := c.permit(f.flags); problem.Kind == reply.Error {
		return problem
	}
	return c.perform(f.Library, f.Name, f.flags, keys, func(h *script) reply.Value { return f.Library.Call(f.Name, keys, args, h) })
}

// splitKeys reads the number of keys and splits what follows it.
func (c *Call) splitKeys(notANumber reply.Value) (keys, args []string, problem reply.Value) {
	n, valid := parseInt(c.Args[2])
	switch {
	case !valid:
		return nil, nil, notANumber
	case n > int64(len(c.Args)-3):
		return nil, nil, failure("ERR Number of keys can't be greater than number of args")
	case n < 0:
		return nil, nil, failure("ERR Number of keys can't be negative")
	}
	return c.Args[3 : 3+n], c.Args[3+n:], okay
}

// flagsOfScript are those flags of a function or a script that have a meaning here.
type flagsOfScript struct {
	noWrites, allowOOM bool
	old                bool // a script without flags
}

func scriptFlags(names []string) flagsOfScript {
	return flagsOfScript{noWrites: slices.Contains(names, "no-writes"), allowOOM: slices.Contains(names, "allow-oom")}
}

// readOnlyName reports whether the command is one of FCALL_RO, EVAL_RO and EVALSHA_RO.
func (c *Call) readOnlyName() bool {
	return len(c.Args[0]) > 3 && is(c.Args[0][len(c.Args[0])-3:], "_ro")
}

// permit refuses to start what may write: over maxmemory, and where the command may only read.
func (c *Call) permit(flags flagsOfScript) reply.Value {
	switch {
	case flags.noWrites:
	case !flags.allowOOM && c.State.overMemory():
		return errOOM
	case c.readOnlyName():
		return failure("ERR Can not execute a script with write flag using *_ro command.")
	}
	return okay
}

// perform runs a function or a script.
func (c *Call) perform(lua *luahost.Library, name string, flags flagsOfScript, keys []string, run func(*script) reply.Value) reply.Value {
	s := c.State
	s.script = script{
		call:     Call{State: s, Session: c.Session, DB: c.DB, Micros: c.Micros, Now: c.Now, Scripted: true},
		name:     name,
		command:  c.Args,
		keys:     keys,
		readOnly: flags.noWrites,
		denyOOM:  !flags.allowOOM && s.overMemory(),
	}
	s.phase.Store(onlyRead)
	s.began.Add(1)
	s.running.Store(lua)
	s.watchFor(lua)
	defer s.finish()
	return run(&s.script)
}

// finish ends the running function or script, and has the lock again.
func (s *State) finish() {
	if s.script.busy {
		s.lock.Lock()
		s.idle.Broadcast()
	}
	s.running.Store(nil)
	s.script = script{}
}
