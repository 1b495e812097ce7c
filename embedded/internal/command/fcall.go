package command

import (
	"slices"

	"github.com/rlfunc/rlfunc/embedded/internal/luahost"
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

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
	flags := flagsOfScript{noWrites: f.NoWrites, allowOOM: f.AllowOOM}
	if problem := c.permit(flags); problem.Kind == reply.Error {
		return problem
	}
	return c.perform(f.Library, f.Name, flags, keys, func(h *script) reply.Value { return f.Library.Call(f.Name, keys, args, h) })
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
