package command

import (
	"math"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var blockingPopCommands = []Command{
	{Name: "blpop", Arity: -3, Flags: Write | NoScript | Blocking, First: 1, Last: -2, Step: 1, Run: func(c *Call) reply.Value { return c.blockingPop(store.List) }},
	{Name: "brpop", Arity: -3, Flags: Write | NoScript | Blocking, First: 1, Last: -2, Step: 1, Run: func(c *Call) reply.Value { return c.blockingPop(store.List) }},
	{Name: "bzpopmin", Arity: -3, Flags: Write | NoScript | Fast | Blocking, First: 1, Last: -2, Step: 1, Run: func(c *Call) reply.Value { return c.blockingPop(store.ZSet) }},
	{Name: "bzpopmax", Arity: -3, Flags: Write | NoScript | Fast | Blocking, First: 1, Last: -2, Step: 1, Run: func(c *Call) reply.Value { return c.blockingPop(store.ZSet) }},
	{Name: "blmove", Arity: 6, Flags: Write | DenyOOM | NoScript | Blocking, First: 1, Last: 2, Step: 1, Run: blmove},
	{Name: "brpoplpush", Arity: 4, Flags: Write | DenyOOM | NoScript | Blocking, First: 1, Last: 2, Step: 1, Run: func(c *Call) reply.Value { return c.moveOrBlock(false, true, c.Args[3]) }},
}

// blockingPop is BLPOP, BRPOP, BZPOPMIN and BZPOPMAX.
func (c *Call) blockingPop(kind store.Kind) reply.Value {
	last := len(c.Args) - 1
	name := lower(c.Args[0])
	p := popping{kind: kind, keys: c.Args[1:last], take: func(c *Call, key string, e *store.Entry) reply.Value {
		value := bulk(take(e.List, name == "blpop"))
		c.DB.Written(key, e)
		return array([]reply.Value{bulk(key), value})
	}}
	if kind == store.ZSet {
		p.take = func(c *Call, key string, e *store.Entry) reply.Value {
			n := takeNode(e.ZSet, name == "bzpopmax")
			c.DB.Written(key, e)
			return array([]reply.Value{bulk(key), bulk(n.Member), double(n.Score)})
		}
	}
	return c.popOrBlock(p, c.Args[last])
}

// popOrBlock waits while none of the keys has elements. One that comes to hold another kind of value meanwhile is as one without elements.
func (c *Call) popOrBlock(p popping, seconds string) reply.Value {
	timeout, problem := fromSeconds(seconds)
	if problem.Kind == reply.Error {
		return problem
	}
	if v, done := p.pop(c, p.keys); done {
		return v
	}
	return c.block(blocking{
		keys: p.keys, timeout: timeout, expired: nilArray,
		try: func(c *Call, keys []string) (reply.Value, bool) {
			v, done := p.pop(c, keys)
			return v, done && v.Kind != reply.Error
		},
	})
}

func blmove(c *Call) reply.Value {
	fromHead, toHead, valid := ends(c.Args[3:5])
	if !valid {
		return errSyntax
	}
	return c.moveOrBlock(fromHead, toHead, c.Args[5])
}

// moveOrBlock waits while the source has no elements.
func (c *Call) moveOrBlock(fromHead, toHead bool, seconds string) reply.Value {
	timeout, problem := fromSeconds(seconds)
	if problem.Kind == reply.Error {
		return problem
	}
	if v := c.move(fromHead, toHead); v.Kind != reply.Nil || c.NoBlock {
		return v
	}
	args := c.Args
	return c.block(blocking{
		keys: args[1:2], timeout: timeout, expired: nilArray,
		try: func(c *Call, _ []string) (reply.Value, bool) {
			c.Args = args
			if e, fits := c.find(args[1], store.List); e == nil || !fits {
				return null, false
			}
			return c.move(fromHead, toHead), true
		},
	})
}

// fromSeconds reads a timeout, which may have a fraction, in milliseconds.
func fromSeconds(s string) (milliseconds int64, problem reply.Value) {
	f, valid := parseFloat(s)
	switch {
	case !valid:
		return 0, failure("ERR timeout is not a float or out of range")
	case f > math.MaxInt64/1000:
		return 0, failure("ERR timeout is out of range")
	case f < 0:
		return 0, failure("ERR timeout is negative")
	}
	return min(int64(math.Ceil(f*1000)), math.MaxInt64/4000), okay
}
