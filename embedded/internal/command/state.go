package command

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/embedded/internal/luahost"
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
	"github.com/rlfunc/rlfunc/embedded/internal/wire"
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
	Limits     wire.Limits
	MaxClients atomic.Int64
	Rejected   atomic.Int64 // connections that were above MaxClients

	scripts    Scripts
	lock       sync.Locker // see Share
	idle       *sync.Cond
	busyAfter  time.Duration
	now        func() time.Time
	config     map[string]string
	streamNode int // entries of a node of a stream, on which trimming with ~ depends
	maxMemory  int64
	lazyOnly   bool // DEBUG SET-ACTIVE-EXPIRE 0: keys expire only when they are used
	evicts     bool // maxmemory-policy is allkeys-lru
	sessions   map[int64]*Session
	nextID     int64
	started    time.Time
	runID      string // tells this server from any other
	log        func(level int, text string)
	used       []usage // by the command's index
	processed  int64
	call       Call   // the command being run, kept to spare an allocation for each
	script     script // likewise

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
	n := int64(baseMemory) + s.Functions.Bytes() + s.scripts.Bytes()
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
func resolve(args []string) (*Command, reply.Value) {
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
func (s *State) Do(session *Session, args []string) reply.Value {
	cmd, problem := resolve(args)
	if problem.Kind == reply.Error {
		s.reject(cmd)
		if is(args[0], "exec") {
			session.discard(s)
			return failure("EXECABORT Transaction discarded because of: " + strings.TrimPrefix(problem.Str, "ERR "))
		}
		session.abort()
		return problem
	}
	s.processed++
	if s.script.busy {
		return s.duringScript(session, cmd, args)
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

func (s *State) refuse(session *Session, cmd *Command, why reply.Value) reply.Value {
	s.reject(cmd)
	if cmd.Name == "exec" {
		session.discard(s)
		return failure("EXECABORT Transaction discarded because of: " + why.Str)
	}
	session.abort()
	return why
}

// run runs a command, which may be one of an EXEC, at the given time.
func (s *State) run(session *Session, cmd *Command, args []string, micros int64) reply.Value {
	s.call = Call{State: s, Session: session, DB: &s.DBs[session.DB], Args: args, Micros: micros, Now: micros / 1000}
	s.used[cmd.index].calls++
	v := cmd.do(&s.call)
	if v.Kind == reply.Error {
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
	if s.processed%sweepEvery == 0 && !s.lazyOnly {
		s.DBs[db].Sweep(sweepKeys, s.call.Now)
	}
}

// A Snapshot is a copy of all keys, and the sources of all libraries.
type Snapshot struct {
	dbs       [Databases]map[string]store.Entry
	libraries []string // their sources
}

// Snapshot copies the keys and the libraries.
func (s *State) Snapshot() Snapshot {
	snapshot := Snapshot{libraries: s.Functions.Codes()}
	now := s.now().UnixMilli()
	for i := range s.DBs {
		if s.DBs[i].Len() == 0 {
			continue
		}
		snapshot.dbs[i] = make(map[string]store.Entry, s.DBs[i].Len())
		s.DBs[i].Each(now, func(key string, e *store.Entry) { snapshot.dbs[i][key] = e.Clone() })
	}
	return snapshot
}

// Restore brings them back. Libraries that are unchanged keep their state.
func (s *State) Restore(snapshot Snapshot) {
	if !slices.Equal(s.Functions.Codes(), snapshot.libraries) {
		s.Functions.Flush()
		for _, code := range snapshot.libraries {
			_, _ = s.Functions.Load(code, false) // it was loaded before: there is nothing in it to refuse
		}
	}
	for i := range s.DBs {
		s.DBs[i].Flush()
		for key, e := range snapshot.dbs[i] {
			s.DBs[i].Put(key, e.Clone())
		}
	}
}
