package command

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// A host carries out the commands that the running function calls.
type host struct {
	call     Call
	name     string
	command  []string
	keys     []string
	readOnly bool
	denyOOM  bool
	wrote    bool
	since    time.Time // its beginning, once busy
	busy     bool      // it has run for so long that other clients get BUSY; the lock is held only while a command runs
}

// The progress of the running function: it can be stopped only before it writes, and cannot write once a stop is requested.
const (
	onlyRead int32 = iota
	written
	killed
)

// perform runs a function.
func (s *State) perform(c *Call, f *Function, keys, args []string) resp.Value {
	s.host = host{
		call:     Call{State: s, Session: c.Session, DB: c.DB, Micros: c.Micros, Now: c.Now, Scripted: true},
		name:     f.Name,
		command:  c.Args,
		keys:     keys,
		readOnly: f.noWrites,
		denyOOM:  !f.allowOOM && s.overMemory(),
	}
	s.phase.Store(onlyRead)
	s.began.Add(1)
	s.running.Store(f.Library)
	if s.lock != nil && s.busyAfter > 0 {
		f.Library.OnSlow(s.busyAfter, func() {
			s.host.busy, s.host.since = true, time.Now().Add(-s.busyAfter)
			s.lock.Unlock()
		})
	}
	defer func() {
		if s.host.busy {
			s.lock.Lock()
		}
		s.running.Store(nil)
		s.host = host{}
	}()
	return f.Library.Call(f.Name, keys, args, &s.host)
}

// Share hands over the lock that each call of Do holds. A function that runs for longer than busy-reply-threshold releases it between its
// commands, so that other clients get BUSY instead of waiting.
func (s *State) Share(lock sync.Locker) { s.lock = lock }

// whileBusy runs one of the few commands that are allowed while a function is busy.
func (s *State) whileBusy(session *Session, cmd *Command, args []string) resp.Value {
	switch {
	case cmd.Flags&AllowBusy == 0:
		return s.refuse(session, cmd, failure("BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."))
	case session.multi && cmd.Flags&AtOnce == 0:
		return session.enqueue(cmd, args)
	}
	return s.run(session, cmd, args, s.now().UnixMicro())
}

var errUnkillable = failure("UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.")

// Kill is FUNCTION KILL: it stops the function that runs, if that has not written yet, and waits until it has ended. Unlike everything else
// it may be called while another command runs.
func (s *State) Kill() resp.Value {
	lua := s.running.Load()
	call := s.began.Load() // after running: it is counted before it runs
	switch {
	case lua == nil:
		return failure("NOTBUSY No scripts in execution right now.")
	case s.phase.Load() == written, !s.phase.CompareAndSwap(onlyRead, killed) && s.phase.Load() == written:
		return errUnkillable
	}
	// A call that is about to begin does not see the first request.
	for ; s.began.Load() == call && s.running.Load() == lua; time.Sleep(time.Millisecond) {
		lua.Kill()
	}
	return okay
}

// Call runs one command for the function.
func (h *host) Call(args []string) resp.Value {
	if h.busy {
		h.call.State.lock.Lock()
		defer h.call.State.lock.Unlock()
	}
	cmd, v := h.admit(args)
	if v.Kind == resp.Error {
		h.call.State.reject(cmd)
		return v
	}
	h.call.State.used[cmd.index].calls++
	h.call.Args = args
	if cmd.Flags&Stateful != 0 {
		v = h.stateful(cmd)
	} else {
		v = cmd.do(&h.call)
	}
	if v.Kind == resp.Error {
		h.call.State.used[cmd.index].failed++
	}
	return v
}

// admit finds the command, and the error if the function may not run it.
func (h *host) admit(args []string) (*Command, resp.Value) {
	cmd := Lookup(args[0])
	if cmd != nil && cmd.Sub != nil {
		sub := (*Command)(nil)
		if len(args) > 1 {
			if sub = cmd.Sub[lower(args[1])]; sub == nil {
				return nil, unknownInScript(args[:2])
			}
			cmd = sub
		}
	}
	switch {
	case cmd == nil && slices.Contains(neverInScripts, lower(args[0])):
		return cmd, failure("ERR This Redis command is not allowed from script" + absent(args[:1]))
	case cmd == nil:
		return cmd, unknownInScript(args[:1])
	case !cmd.accepts(len(args)):
		return cmd, failure("ERR Wrong number of args calling Redis command from script")
	case cmd.Flags&NoScript != 0:
		return cmd, failure("ERR This Redis command is not allowed from script")
	case h.readOnly && cmd.Flags&(Write|MayReplicate) != 0:
		return cmd, failure("ERR Write commands are not allowed from read-only scripts.")
	case h.denyOOM && !h.wrote && cmd.Flags&DenyOOM != 0:
		return cmd, errOOM
	}
	if key, found := h.undeclared(cmd, args); found && !h.call.State.AnyKey {
		return cmd, failure("RLUNDECLARED key '" + clip(key) + "' is not among the KEYS of this call")
	}
	if cmd.Flags&Write != 0 && !h.wrote {
		if !h.call.State.phase.CompareAndSwap(onlyRead, written) {
			return cmd, failure("ERR Script killed by user with SCRIPT KILL...")
		}
		h.wrote = true
	}
	return cmd, okay
}

func unknownInScript(name []string) resp.Value {
	return failure("ERR Unknown Redis command called from script" + absent(name))
}

// neverInScripts are commands that this server does not have and that Redis refuses to run from a function.
var neverInScripts = []string{
	"bgrewriteaof", "bgsave", "blmove", "blmpop", "blpop", "brpop", "brpoplpush", "bzmpop", "bzpopmax", "bzpopmin", "failover",
	"latency", "migrate", "module", "monitor", "psubscribe", "psync", "punsubscribe", "replicaof", "save", "shutdown",
	"slaveof", "slowlog", "ssubscribe", "subscribe", "sunsubscribe", "sync", "unsubscribe",
}

// KeysOf finds the keys of a command, and what they hold.
func (h *host) KeysOf(args []string) (keys []string, sizes []int, write bool) {
	cmd := Lookup(args[0])
	if cmd != nil && cmd.Sub != nil && len(args) > 1 {
		cmd = cmd.Sub[lower(args[1])]
	}
	if cmd == nil {
		return nil, nil, false
	}
	cmd.keys(args, func(k string) bool {
		size := 0
		if e := h.call.DB.Get(k, h.call.Now); e != nil {
			size = e.Len()
			if e.Kind == store.List {
				size = searched(cmd.Name, args, e.List)
			}
		}
		keys, sizes = append(keys, k), append(sizes, size)
		return true
	})
	return keys, sizes, cmd.Flags&Write != 0
}

// searched is how many elements of a list a command passes to find what it is about.
func searched(name string, args []string, list *store.Deque) int {
	number := func(i int) int {
		n, _ := strconv.Atoi(args[i])
		return n
	}
	find := func(element string, times, most int) (passed int) {
		for i := 0; i < list.Len() && i < most; i++ {
			at := i
			if times < 0 {
				at = list.Len() - 1 - i
			}
			if passed++; list.At(at) == element {
				if times == 1 || times == -1 {
					break
				}
				times -= max(-1, min(times, 1))
			}
		}
		return passed
	}
	switch {
	case name == "lrem" && len(args) > 3:
		return find(args[3], number(2), list.Len())
	case name == "linsert" && len(args) > 3:
		return find(args[3], 1, list.Len())
	case name == "lpos" && len(args) > 2:
		most := list.Len()
		for i := 3; i+1 < len(args); i += 2 {
			if n := number(i + 1); is(args[i], "maxlen") && n > 0 {
				most = n
			}
		}
		return find(args[2], 1, most)
	case (name == "lindex" || name == "lset") && len(args) > 2:
		i := number(2)
		if i < 0 {
			i += list.Len()
		}
		return max(0, min(i, list.Len()-i)) / 8
	}
	return 0
}

// Allowed answers redis.acl_check_cmd: this server has no users, so every command that there is may be run.
func (h *host) Allowed(args []string) (allowed, known bool) {
	return true, Lookup(args[0]) != nil || slices.Contains(neverInScripts, lower(args[0]))
}

// undeclared finds a key of the command that the caller of the function did not name.
func (h *host) undeclared(cmd *Command, args []string) (key string, found bool) {
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
func (h *host) stateful(cmd *Command) resp.Value {
	session := h.call.Session
	before := session.DB
	v := cmd.Run(&h.call)
	h.call.DB = &h.call.State.DBs[session.DB]
	session.DB = before
	return v
}

// Log takes what redis.log writes. There is no log file: it goes to the State's logger.
func (h *host) Log(level int, text string) {
	if log := h.call.State.log; log != nil {
		log(level, text)
	}
}
