package command

import (
	"slices"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// blocking is what a command waits for.
type blocking struct {
	keys    []string
	timeout int64                                                   // milliseconds; 0: for ever
	expired reply.Value                                             // the reply after that
	try     func(c *Call, keys []string) (v reply.Value, done bool) // tries again, with a key that has changed
}

// A Waiter is a blocked command.
type Waiter struct {
	Done     chan reply.Value // gets the reply, once
	Deadline int64            // server time in microseconds; 0: none

	blocking
	cmd     *Command
	session *Session
	db      int
	since   int64
	ended   bool
}

// block makes the command wait, except where nothing may wait: within EXEC and in functions.
func (c *Call) block(b blocking) reply.Value {
	if c.NoBlock {
		return b.expired
	}
	w := &Waiter{Done: make(chan reply.Value, 1), blocking: b, cmd: Lookup(c.Args[0]), session: c.Session, db: c.Session.DB, since: c.Micros}
	if b.timeout > 0 {
		w.Deadline = c.Micros + b.timeout*1000
	}
	c.State.blocked = w
	c.State.waiters = append(c.State.waiters, w)
	for _, key := range b.keys {
		c.DB.Await(key)
	}
	return reply.Value{Kind: reply.Blocked}
}

// Blocked returns the waiter of the last command, whose reply was of the kind Blocked.
func (s *State) Blocked() *Waiter {
	w := s.blocked
	s.blocked = nil
	return w
}

// end gives a waiter its reply.
func (s *State) end(w *Waiter, v reply.Value) {
	if w.ended {
		return
	}
	w.ended = true
	if v.Kind == reply.Error {
		s.failed(w.cmd, v, "")
	}
	w.Done <- v
	for _, key := range w.keys {
		s.DBs[w.db].Unawait(key)
	}
	s.waiters = slices.DeleteFunc(s.waiters, func(other *Waiter) bool { return other == w })
}

// serveWaiters tries those again that wait for a key which has changed, in the order in which they came.
func (s *State) serveWaiters(micros int64) {
	for db := 0; len(s.waiters) > 0 && db < Databases; db++ {
		key, ready := s.DBs[db].Ready()
		if !ready {
			continue
		}
		for _, w := range slices.Clone(s.waiters) {
			if w.ended || w.db != db || !slices.Contains(w.keys, key) {
				continue
			}
			call := Call{State: s, Session: w.session, DB: &s.DBs[db], Micros: micros, Now: micros / 1000, NoBlock: true}
			if v, done := w.try(&call, []string{key}); done {
				s.end(w, v)
			}
		}
		db = -1 // what they did may have changed other keys
	}
}

// ExpireWaiters ends those whose time has come.
func (s *State) ExpireWaiters() {
	now := s.now().UnixMicro()
	for _, w := range slices.Clone(s.waiters) {
		if w.Deadline > 0 && w.Deadline <= now {
			s.end(w, w.expired)
		}
	}
}

// EndWaiter ends one whose client is gone.
func (s *State) EndWaiter(w *Waiter) { s.end(w, w.expired) }

// waiter returns what a session waits for, or nil.
func (s *State) waiter(session *Session) *Waiter {
	for _, w := range s.waiters {
		if w.session == session {
			return w
		}
	}
	return nil
}
