package command

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/embedded/internal/luahost"
	"github.com/rlfunc/rlfunc/embedded/internal/resp"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// Databases is how many numbered databases there are.
const Databases = 16

// baseMemory is what an empty server is said to use, about as much as a real one.
const baseMemory = 1 << 20

var errOOM = failure("OOM command not allowed when used memory > 'maxmemory'.")

// State is everything that a server holds. It is not safe for concurrent use.
type State struct {
	DBs       [Databases]store.DB
	Functions Registry
	AnyKey    bool // functions and scripts may use keys that their call does not name

	// What CONFIG SET may change while connections are read and written.
	Limits     resp.Limits
	MaxClients atomic.Int64
	Rejected   atomic.Int64 // connections that were above MaxClients

	lock       sync.Locker // see Share
	busyAfter  time.Duration
	now        func() time.Time
	config     map[string]string
	streamNode int // entries of a node of a stream, on which trimming with ~ depends
	maxMemory  int64
	evicts     bool // maxmemory-policy is allkeys-lru
	sessions   map[int64]*Session
	nextID     int64
	started    time.Time
	runID      string // tells this server from any other
	log        func(level int, text string)
	used       []usage // by the command's index
	processed  int64
	call       Call // the command being run, kept to spare an allocation for each
	host       host // likewise

	running atomic.Pointer[luahost.Library] // whose function runs
	phase   atomic.Int32                    // what it has done: onlyRead, written or killed
	began   atomic.Int64                    // calls of functions so far
}

// NewState returns an empty server on the given clock. Functions log to log, unless it is nil.
func NewState(now func() time.Time, log func(level int, text string)) *State {
	id := make([]byte, 20)
	rand.Read(id)
	s := &State{runID: hex.EncodeToString(id), now: now, sessions: make(map[int64]*Session), started: now(), log: log, used: make([]usage, len(rows))}
	s.configure()
	return s
}

// UsedMemory is the approximate number of bytes in use.
func (s *State) UsedMemory() int64 {
	n := int64(baseMemory) + s.Functions.Bytes()
	for i := range s.DBs {
		n += s.DBs[i].Used()
	}
	return n
}

func (s *State) overMemory() bool { return s.maxMemory > 0 && s.UsedMemory() > s.maxMemory }

// evict makes room for a command; where code alone takes all memory, none is left.
func (s *State) evict() {
	for i := range s.DBs {
		for s.overMemory() && s.DBs[i].Evict() {
		}
	}
}

// resolve finds the row for args, or says why they cannot run.
func resolve(args []string) (*Command, resp.Value) {
	cmd := Lookup(args[0])
	if cmd == nil {
		return nil, unknown(args)
	}
	if cmd.Sub != nil && len(args) > 1 {
		sub := cmd.Sub[lower(args[1])]
		if sub == nil {
			return nil, failure("ERR unknown subcommand '" + clip(args[1]) + "'. Try " + upper(args[0]) + " HELP." + absent(args[:2]))
		}
		cmd = sub
	}
	if !cmd.accepts(len(args)) {
		return cmd, wrongArity(cmd.Name)
	}
	return cmd, okay
}

// Do runs one command of a session and returns its reply. args hold at least a name and are not kept.
func (s *State) Do(session *Session, args []string) resp.Value {
	cmd, problem := resolve(args)
	if problem.Kind == resp.Error {
		s.reject(cmd)
		if is(args[0], "exec") {
			session.discard(s)
			return failure("EXECABORT Transaction discarded because of: " + strings.TrimPrefix(problem.Str, "ERR "))
		}
		session.abort()
		return problem
	}
	s.processed++
	if s.host.busy {
		return s.whileBusy(session, cmd, args)
	}
	if s.evicts && s.overMemory() {
		s.evict()
	}
	queues := session.multi && cmd.Flags&AtOnce == 0
	if s.maxMemory > 0 && (cmd.Flags&DenyOOM != 0 || queues || cmd.Name == "exec" && session.writes()) && s.overMemory() {
		return s.refuse(session, cmd, errOOM)
	}
	if queues {
		return session.enqueue(cmd, args)
	}
	v := s.run(session, cmd, args, s.now().UnixMicro())
	if cmd.Flags&Write != 0 || cmd.KeysAt != 0 || cmd.Name == "exec" {
		s.sweep(session.DB)
	}
	return v
}

func (s *State) refuse(session *Session, cmd *Command, why resp.Value) resp.Value {
	s.reject(cmd)
	if cmd.Name == "exec" {
		session.discard(s)
		return failure("EXECABORT Transaction discarded because of: " + why.Str)
	}
	session.abort()
	return why
}

// run runs a command, which may be one of an EXEC, at the given time.
func (s *State) run(session *Session, cmd *Command, args []string, micros int64) resp.Value {
	s.call = Call{State: s, Session: session, DB: &s.DBs[session.DB], Args: args, Micros: micros, Now: micros / 1000}
	s.used[cmd.index].calls++
	v := cmd.do(&s.call)
	if v.Kind == resp.Error {
		s.used[cmd.index].failed++
	}
	return v
}

// Every sweepEvery writes, sweepKeys keys are looked at: more than can have been made meanwhile by writes of one key each.
const (
	sweepEvery = 16
	sweepKeys  = 20
)

func (s *State) sweep(db int) {
	if s.processed%sweepEvery == 0 {
		s.DBs[db].Sweep(sweepKeys, s.call.Now)
	}
}
