package command

import (
	"slices"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// A Session is what the server knows of one connection.
type Session struct {
	ID      int64
	Name    string
	Library string
	Version string
	Addr    string
	DB      int
	Closing bool // QUIT was given

	Protocol int // 2 or 3

	multi   bool
	aborted bool // a command could not be queued
	queue   []pending
	queued  int64 // bytes that the queue takes, about
	watch   *store.Watch
	watched []watchedKey
}

type pending struct {
	cmd  *Command
	args []string
}

type watchedKey struct {
	db  int
	key string
}

// Connect begins a session.
func (s *State) Connect(addr string) *Session {
	s.nextID++
	session := &Session{ID: s.nextID, Addr: addr, Protocol: 2}
	s.sessions[session.ID] = session
	return session
}

// Disconnect ends it.
func (s *State) Disconnect(session *Session) {
	session.discard(s)
	delete(s.sessions, session.ID)
}

// Queues reports whether commands are queued for EXEC.
func (session *Session) Queues() bool { return session.multi }

func (session *Session) enqueue(cmd *Command, args []string) reply.Value {
	session.queue = append(session.queue, pending{cmd, slices.Clone(args)})
	session.queued += pendingOverhead
	for _, arg := range args {
		session.queued += argumentOverhead + int64(len(arg))
	}
	return queued
}

// Costs of a queued command and an argument on the heap beside the argument's bytes.
const (
	pendingOverhead  = 48
	argumentOverhead = 32
)

// Queued returns about how many bytes the commands take that are queued for EXEC.
func (session *Session) Queued() int64 { return session.queued }

func (session *Session) abort() {
	if session.multi {
		session.aborted = true
	}
}

// writes reports whether one of the queued commands may need memory.
func (session *Session) writes() bool {
	return slices.ContainsFunc(session.queue, func(p pending) bool { return p.cmd.Flags&DenyOOM != 0 })
}

// discard leaves MULTI and forgets the watched keys.
func (session *Session) discard(s *State) {
	session.multi, session.aborted, session.queue, session.queued = false, false, nil, 0
	session.unwatch(s)
}

func (session *Session) unwatch(s *State) {
	for _, w := range session.watched {
		s.DBs[w.db].Unwatch(w.key, session.watch)
	}
	session.watch, session.watched = nil, nil
}
