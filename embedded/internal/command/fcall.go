package command

import (
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// fcall is FCALL and FCALL_RO.
func fcall(c *Call) reply.Value {
	s := c.State
	f := s.Functions.Find(c.Args[1])
	if f == nil {
		return failure("ERR Function not found")
	}
	n, valid := parseInt(c.Args[2])
	switch {
	case !valid:
		return failure("ERR Bad number of keys provided")
	case n > int64(len(c.Args)-3):
		return failure("ERR Number of keys can't be greater than number of args")
	case n < 0:
		return failure("ERR Number of keys can't be negative")
	}
	if !f.NoWrites {
		switch {
		case len(c.Args[0]) == len("fcall_ro"):
			return failure("ERR Can not execute a script with write flag using *_ro command.")
		case !f.AllowOOM && s.overMemory():
			return errOOM
		}
	}
	keys, args := c.Args[3:3+n], c.Args[3+n:]
	s.script = script{
		call:     Call{State: s, Session: c.Session, DB: c.DB, Micros: c.Micros, Now: c.Now, NoBlock: true, Scripted: true},
		keys:     keys,
		readOnly: f.NoWrites,
		denyOOM:  f.NoWrites && s.overMemory(),
	}
	s.phase.Store(onlyRead)
	s.began.Add(1)
	s.running.Store(f.Library)
	v := f.Library.Call(f.Name, keys, args, &s.script)
	s.running.Store(nil)
	s.script = script{}
	return v
}

// The progress of the running function: it can be stopped only before it writes, and cannot write once a stop is requested.
const (
	onlyRead int32 = iota
	written
	killed
)

// Kill is FUNCTION KILL: it stops the function that runs, if it has not written yet, and waits until it has ended. Unlike everything else it may be called while another command runs.
func (s *State) Kill() reply.Value {
	library := s.running.Load()
	call := s.began.Load() // after running: it is counted before it runs
	switch {
	case library == nil:
		return failure("NOTBUSY No scripts in execution right now.")
	case !s.phase.CompareAndSwap(onlyRead, killed) && s.phase.Load() == written:
		return failure("UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.")
	}
	// A call that is about to begin does not see the first request.
	for ; s.began.Load() == call && s.running.Load() == library; time.Sleep(time.Millisecond) {
		library.Kill()
	}
	return okay
}

// A script is the host of the function that runs: it carries out the commands that the function calls.
type script struct {
	call     Call
	keys     []string
	readOnly bool
	denyOOM  bool
	wrote    bool
}

// Call runs one command for the function.
func (h *script) Call(args []string) reply.Value {
	cmd := Lookup(args[0])
	if cmd != nil && cmd.Sub != nil {
		sub := (*Command)(nil)
		if len(args) > 1 {
			if sub = cmd.Sub[lower(args[1])]; sub == nil {
				return failure("ERR Unknown Redis command called from script")
			}
			cmd = sub
		}
	}
	switch {
	case cmd == nil && slices.Contains(neverInScripts, lower(args[0])):
		return failure("ERR This Redis command is not allowed from script")
	case cmd == nil:
		return failure("ERR Unknown Redis command called from script")
	case !cmd.accepts(len(args)):
		return failure("ERR Wrong number of args calling Redis command from script")
	case cmd.Flags&NoScript != 0:
		return failure("ERR This Redis command is not allowed from script")
	case h.readOnly && cmd.Flags&Write != 0:
		return failure("ERR Write commands are not allowed from read-only scripts.")
	case h.denyOOM && cmd.Flags&DenyOOM != 0:
		return errOOM
	}
	if key, found := h.undeclared(cmd, args); found {
		return failure("RLUNDECLARED key '" + clip(key) + "' is not among the KEYS of this call")
	}
	if cmd.Flags&Write != 0 && !h.wrote {
		if !h.call.State.phase.CompareAndSwap(onlyRead, written) {
			return failure("ERR Script killed by user with SCRIPT KILL...")
		}
		h.wrote = true
	}
	h.call.State.calls[cmd.index]++
	h.call.Args = args
	if cmd.Flags&Stateful != 0 {
		return h.stateful(cmd)
	}
	return cmd.Run(&h.call)
}

// neverInScripts are commands that this server does not have and that Redis refuses to run from a function.
var neverInScripts = []string{
	"acl", "bgrewriteaof", "bgsave", "cluster", "debug", "eval", "eval_ro", "evalsha", "evalsha_ro", "failover", "latency",
	"migrate", "module", "monitor", "psubscribe", "psync", "punsubscribe", "replicaof", "save", "script", "shutdown",
	"slaveof", "slowlog", "ssubscribe", "subscribe", "sunsubscribe", "sync", "unsubscribe",
}

// Allowed answers redis.acl_check_cmd: this server has no users, so every command that there is may be run.
func (h *script) Allowed(args []string) (allowed, known bool) {
	return true, Lookup(args[0]) != nil || slices.Contains(neverInScripts, lower(args[0]))
}

// undeclared finds a key of the command that the caller of the function did not name.
func (h *script) undeclared(cmd *Command, args []string) (key string, found bool) {
	if cmd.First == 1 && cmd.Last == 1 && cmd.KeysAt == 0 && cmd.Locate == nil {
		return args[1], !slices.Contains(h.keys, args[1])
	}
	cmd.keys(args, func(k string) bool {
		key, found = k, !slices.Contains(h.keys, k)
		return !found
	})
	return key, found
}

// stateful runs a command that acts on the connection: SELECT holds until the end of the function.
func (h *script) stateful(cmd *Command) reply.Value {
	session := h.call.Session
	before := session.DB
	v := cmd.Run(&h.call)
	h.call.DB = &h.call.State.DBs[session.DB]
	session.DB = before
	return v
}

// Log takes what redis.log writes. There is no log file: it goes to the State's logger.
func (h *script) Log(level int, text string) {
	if log := h.call.State.log; log != nil {
		log(level, text)
	}
}
