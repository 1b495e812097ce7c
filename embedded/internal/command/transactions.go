package command

import (
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
	"github.com/rlfunc/rlfunc/embedded/internal/wire"
)

var transactionCommands = []Command{
	{Name: "multi", Arity: 1, Flags: AllowBusy | NoScript | Fast | AtOnce | Stateful, Run: multi},
	{Name: "exec", Arity: 1, Flags: NoScript | AtOnce | Stateful, Run: exec},
	{Name: "discard", Arity: 1, Flags: AllowBusy | NoScript | Fast | AtOnce | Stateful, Run: discard},
	{Name: "watch", Arity: -2, Flags: AllowBusy | NoScript | Fast | AtOnce | Stateful, First: 1, Last: -1, Step: 1, Run: watch},
	{Name: "unwatch", Arity: 1, Flags: AllowBusy | NoScript | Fast | Stateful, Run: unwatch},
}

func multi(c *Call) reply.Value {
	if c.Session.multi {
		return failure("ERR MULTI calls can not be nested")
	}
	c.Session.multi = true
	return okay
}

func discard(c *Call) reply.Value {
	if !c.Session.multi {
		return failure("ERR DISCARD without MULTI")
	}
	c.Session.discard(c.State)
	return okay
}

func watch(c *Call) reply.Value {
	session := c.Session
	if session.multi {
		return failure("ERR WATCH inside MULTI is not allowed")
	}
	if session.watch == nil {
		session.watch = &store.Watch{}
	}
	for _, key := range c.Args[1:] {
		c.DB.Get(key, c.Now) // a key that has expired already does not count as changed when it is removed
		if c.DB.Watch(key, session.watch) {
			session.watched = append(session.watched, watchedKey{session.DB, key})
		}
	}
	return okay
}

func unwatch(c *Call) reply.Value {
	c.Session.unwatch(c.State)
	return okay
}

// exec runs the queue; nothing comes between, and the clock stands still.
func exec(c *Call) reply.Value {
	state, session, micros := c.State, c.Session, c.Micros
	if !session.multi {
		return failure("ERR EXEC without MULTI")
	}
	for _, w := range session.watched {
		state.DBs[w.db].Get(w.key, c.Now) // an expiry since WATCH is a change
	}
	queue, aborted := session.queue, session.aborted
	changed := session.watch != nil && session.watch.Touched
	session.discard(state)
	switch {
	case aborted:
		return failure("EXECABORT Transaction discarded because of previous errors.")
	case changed:
		return nilArray
	}
	values := make([]reply.Value, len(queue))
	for i, p := range queue {
		protocol := session.Protocol
		values[i] = state.run(session, p.cmd, p.args, micros)
		if session.Protocol != protocol { // HELLO: what came before keeps its form
			for j := range i {
				values[j] = reply.Value{Kind: reply.Raw, Str: string(wire.Append(nil, values[j], protocol))}
			}
		}
	}
	return array(values)
}
