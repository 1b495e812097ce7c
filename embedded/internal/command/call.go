// Package command is the table of Redis commands and what each of them does to a keyspace.
//
// The error texts are those of Redis 7.0. Nothing here locks: one State serves one command at a time.
package command

import (
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// A Call is one command being run.
type Call struct {
	State   *State
	Session *Session
	DB      *store.DB
	Entry   *store.Entry // see Command.Of
	Args    []string     // with the command's name; not to be kept
	Micros  int64        // the server's time, in microseconds since the Unix epoch; it stands still within an FCALL or an EXEC
	Now     int64        // the same in milliseconds

	Scripted bool // a function or script runs the command
}

// find looks key up. The entry is nil if there is none; ok is false if it holds another kind of value.
func (c *Call) find(key string, kind store.Kind) (e *store.Entry, ok bool) {
	e = c.DB.Get(key, c.Now)
	return e, e == nil || e.Kind == kind
}

// obtain is find for a command that makes the key where it is missing.
func (c *Call) obtain(key string, kind store.Kind) (e *store.Entry, ok bool) {
	if e = c.DB.Get(key, c.Now); e == nil {
		return c.DB.Create(key, kind), true
	}
	return e, e.Kind == kind
}

// length is LLEN, HLEN and their like.
func length(c *Call) reply.Value { return number(c.Entry.Len()) }

// keep stores the result of SUNIONSTORE and its like, which replaces what the key held, and answers how many elements it has.
func (c *Call) keep(key string, e store.Entry) reply.Value {
	if e.Len() == 0 {
		c.DB.Delete(key)
		return zero
	}
	e.Expire = store.Never
	return number(c.DB.Put(key, e).Len())
}

// remove is HDEL, SREM and ZREM.
func (c *Call) remove(from func(member string) bool) reply.Value {
	n := 0
	for _, member := range c.Args[2:] {
		if from(member) {
			n++
		}
	}
	if n > 0 {
		c.DB.Written(c.Args[1], c.Entry)
	}
	return number(n)
}

// arity refuses a number of arguments that the command's arity alone does not exclude.
func (c *Call) arity() reply.Value { return wrongArity(lower(c.Args[0])) }
