package command

import (
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var keyCommands = []Command{
	{Name: "del", Arity: -2, Flags: Write, First: 1, Last: -1, Step: 1, Run: del},
	{Name: "unlink", Arity: -2, Flags: Write | Fast, First: 1, Last: -1, Step: 1, Run: del},
	{Name: "exists", Arity: -2, Flags: ReadOnly | Fast, First: 1, Last: -1, Step: 1, Run: exists},
	{Name: "touch", Arity: -2, Flags: ReadOnly | Fast, First: 1, Last: -1, Step: 1, Run: exists},
	{Name: "type", Arity: 2, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Run: typeOf},
	{Name: "keys", Arity: 2, Flags: ReadOnly, Run: keys},
	{Name: "scan", Arity: -2, Flags: ReadOnly, Run: scan},
	{Name: "rename", Arity: 3, Flags: Write, First: 1, Last: 2, Step: 1, Run: rename},
	{Name: "renamenx", Arity: 3, Flags: Write | Fast, First: 1, Last: 2, Step: 1, Run: rename},
	{Name: "copy", Arity: -3, Flags: Write | DenyOOM, First: 1, Last: 2, Step: 1, Run: copyKey},
	{Name: "randomkey", Arity: 1, Flags: ReadOnly, Run: randomKey},
	{Name: "dbsize", Arity: 1, Flags: ReadOnly | Fast, Run: dbsize},
	{Name: "flushdb", Arity: -1, Flags: Write, Run: flush},
	{Name: "flushall", Arity: -1, Flags: Write, Run: flush},
	{Name: "object", Arity: -2},
	{Name: "object|refcount", Arity: 3, Flags: ReadOnly, First: 2, Last: 2, Step: 1, Run: refcount}, // which tests of Redis ask
	{Name: "memory", Arity: -2},
	{Name: "memory|usage", Arity: -3, Flags: ReadOnly, First: 2, Last: 2, Step: 1, Run: memoryUsage},
}

func del(c *Call) reply.Value {
	n := 0
	for _, key := range c.Args[1:] {
		if c.DB.Get(key, c.Now) != nil && c.DB.Delete(key) {
			n++
		}
	}
	return number(n)
}

func exists(c *Call) reply.Value {
	n := 0
	for _, key := range c.Args[1:] {
		if c.DB.Get(key, c.Now) != nil {
			n++
		}
	}
	return number(n)
}

func typeOf(c *Call) reply.Value {
	kind := store.None
	if e := c.DB.Get(c.Args[1], c.Now); e != nil {
		kind = e.Kind
	}
	return status(kind.String())
}

func keys(c *Call) reply.Value {
	var found []reply.Value
	c.DB.Each(c.Now, func(key string, _ *store.Entry) {
		if matches(c.Args[1], key) {
			found = append(found, bulk(key))
		}
	})
	return array(found)
}

// rename is RENAME and RENAMENX.
func rename(c *Call) reply.Value {
	from, to := c.Args[1], c.Args[2]
	onlyNew := is(c.Args[0], "renamenx")
	e := c.DB.Get(from, c.Now)
	switch {
	case e == nil:
		return errNoKey
	case onlyNew && c.DB.Get(to, c.Now) != nil:
		return zero
	}
	if from != to {
		moved := *e
		c.DB.Delete(from)
		c.DB.Put(to, moved)
	}
	if onlyNew {
		return one
	}
	return okay
}

func copyKey(c *Call) reply.Value {
	target, replace := c.DB, false
	for i := 3; i < len(c.Args); i++ {
		switch {
		case is(c.Args[i], "replace"):
			replace = true
		case is(c.Args[i], "db") && i+1 < len(c.Args):
			n, problem := parseDB(c.Args[i+1])
			if problem.Kind == reply.Error {
				return problem
			}
			target = &c.State.DBs[n]
			i++
		default:
			return errSyntax
		}
	}
	if target == c.DB && c.Args[1] == c.Args[2] {
		return failure("ERR source and destination objects are the same")
	}
	e := c.DB.Get(c.Args[1], c.Now)
	if e == nil || target.Get(c.Args[2], c.Now) != nil && !replace {
		return zero
	}
	target.Put(c.Args[2], e.Clone())
	return one
}

func randomKey(c *Call) reply.Value {
	if key, any := c.DB.Random(c.Now); any {
		return bulk(key)
	}
	return null
}

// dbsize first removes some of the keys whose time has come, as Redis would have done meanwhile.
func dbsize(c *Call) reply.Value {
	if !c.State.lazyOnly {
		c.DB.Sweep(sweepKeys, c.Now)
	}
	return number(c.DB.Len())
}

// flush is FLUSHDB and FLUSHALL. Libraries of functions stay.
func flush(c *Call) reply.Value {
	if len(c.Args) > 2 || len(c.Args) == 2 && !is(c.Args[1], "sync") && !is(c.Args[1], "async") {
		return errSyntax
	}
	if is(c.Args[0], "flushdb") {
		c.DB.Flush()
		return okay
	}
	for i := range c.State.DBs {
		c.State.DBs[i].Flush()
	}
	return okay
}

func refcount(c *Call) reply.Value {
	if c.DB.Get(c.Args[2], c.Now) == nil {
		return null
	}
	return one
}

// memoryUsage is what the key adds to used_memory. There are no samples: elements are counted as they are written.
func memoryUsage(c *Call) reply.Value {
	for words := c.Args[3:]; len(words) > 0; words = words[2:] {
		if len(words) < 2 || !is(words[0], "samples") {
			return errSyntax
		}
		n, valid := parseInt(words[1])
		switch {
		case !valid:
			return errNotInt
		case n < 0:
			return errSyntax
		}
	}
	e := c.DB.Get(c.Args[2], c.Now)
	if e == nil {
		return null
	}
	return integer(e.Size())
}
