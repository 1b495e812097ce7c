package command

import (
	"math"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var expiryCommands = []Command{
	{Name: "expire", Arity: -3, Flags: Write | Fast, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.expire(1000, true) }},
	{Name: "pexpire", Arity: -3, Flags: Write | Fast, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.expire(1, true) }},
	{Name: "expireat", Arity: -3, Flags: Write | Fast, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.expire(1000, false) }},
	{Name: "pexpireat", Arity: -3, Flags: Write | Fast, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.expire(1, false) }},
	{Name: "ttl", Arity: 2, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.ttl(1000, true) }},
	{Name: "pttl", Arity: 2, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.ttl(1, true) }},
	{Name: "expiretime", Arity: 2, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.ttl(1000, false) }},
	{Name: "pexpiretime", Arity: 2, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.ttl(1, false) }},
	{Name: "persist", Arity: 2, Flags: Write | Fast, First: 1, Last: 1, Step: 1, Run: persist},
}

// ttl returns the time left (or with relative unset, the moment of expiry), rounded to the nearest unit, which is given in milliseconds.
func (c *Call) ttl(unit int64, relative bool) reply.Value {
	e := c.DB.Get(c.Args[1], c.Now)
	switch {
	case e == nil:
		return integer(-2)
	case e.Expire == store.Never:
		return integer(-1)
	}
	left := e.Expire
	if relative {
		left = max(left-c.Now, 0)
	}
	return integer((left + unit/2) / unit)
}

type expireConditions struct{ onlyNew, onlyOld, later, sooner bool }

func parseExpireConditions(words []string) (o expireConditions, problem reply.Value) {
	for _, w := range words {
		switch {
		case is(w, "nx"):
			o.onlyNew = true
		case is(w, "xx"):
			o.onlyOld = true
		case is(w, "gt"):
			o.later = true
		case is(w, "lt"):
			o.sooner = true
		default:
			return o, failure("ERR Unsupported option " + cText(w))
		}
	}
	switch {
	case o.onlyNew && (o.onlyOld || o.later || o.sooner):
		return o, failure("ERR NX and XX, GT or LT options at the same time are not compatible")
	case o.later && o.sooner:
		return o, failure("ERR GT and LT options at the same time are not compatible")
	}
	return o, okay
}

func (o expireConditions) allow(old, when int64) bool {
	switch {
	case o.onlyNew && old != store.Never, o.onlyOld && old == store.Never:
		return false
	case o.later && when <= old, o.sooner && when >= old:
		return false
	}
	return true
}

func (c *Call) expire(unit int64, relative bool) reply.Value {
	o, problem := parseExpireConditions(c.Args[3:])
	if problem.Kind == reply.Error {
		return problem
	}
	when, valid := parseInt(c.Args[2])
	if !valid {
		return errNotInt
	}
	if when > math.MaxInt64/unit || when < math.MinInt64/unit {
		return badExpire(c.Args[0])
	}
	when *= unit
	if relative {
		if when > 0 && c.Now > math.MaxInt64-when {
			return badExpire(c.Args[0])
		}
		when += c.Now
	}
	key := c.Args[1]
	e := c.DB.Get(key, c.Now)
	if e == nil || !o.allow(e.Expire, when) {
		return zero
	}
	if when <= c.Now {
		c.DB.Delete(key)
		return one
	}
	c.DB.SetExpire(e, when)
	c.DB.Changed(key, e)
	return one
}

func persist(c *Call) reply.Value {
	e := c.DB.Get(c.Args[1], c.Now)
	if e == nil || e.Expire == store.Never {
		return zero
	}
	c.DB.SetExpire(e, store.Never)
	c.DB.Changed(c.Args[1], e)
	return one
}
