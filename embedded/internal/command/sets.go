package command

import (
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var setCommands = []Command{
	{Name: "sadd", Arity: -3, Flags: Write | DenyOOM | Fast, First: 1, Last: 1, Step: 1, Run: sadd},
	{Name: "srem", Arity: -3, Flags: Write | Fast, First: 1, Last: 1, Step: 1, Of: store.Set, Missing: zero, Run: srem},
	{Name: "scard", Arity: 2, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Of: store.Set, Missing: zero, Run: length},
	{Name: "sismember", Arity: 3, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Of: store.Set, Missing: zero, Run: sismember},
	{Name: "smismember", Arity: -3, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Run: smismember},
	{Name: "smembers", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.Set, Missing: unordered(nil), Run: smembers},
	{Name: "smove", Arity: 4, Flags: Write | Fast, First: 1, Last: 2, Step: 1, Run: smove},
	{Name: "spop", Arity: -2, Flags: Write | Fast, First: 1, Last: 1, Step: 1, Run: spop},
	{Name: "srandmember", Arity: -2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: srandmember},
	{Name: "sscan", Arity: -3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: sscan},
	{Name: "sinter", Arity: -2, Flags: ReadOnly, First: 1, Last: -1, Step: 1, Run: sinter},
	{Name: "sunion", Arity: -2, Flags: ReadOnly, First: 1, Last: -1, Step: 1, Run: sunion},
	{Name: "sdiff", Arity: -2, Flags: ReadOnly, First: 1, Last: -1, Step: 1, Run: sdiff},
	{Name: "sinterstore", Arity: -3, Flags: Write | DenyOOM, First: 1, Last: -1, Step: 1, Run: func(c *Call) reply.Value { return c.storeSet(intersect) }},
	{Name: "sunionstore", Arity: -3, Flags: Write | DenyOOM, First: 1, Last: -1, Step: 1, Run: func(c *Call) reply.Value { return c.storeSet(unite) }},
	{Name: "sdiffstore", Arity: -3, Flags: Write | DenyOOM, First: 1, Last: -1, Step: 1, Run: func(c *Call) reply.Value { return c.storeSet(subtract) }},
}

func sadd(c *Call) reply.Value {
	e, fits := c.obtain(c.Args[1], store.Set)
	if !fits {
		return errWrongType
	}
	n := 0
	for _, member := range c.Args[2:] {
		if e.Set.Add(member) {
			n++
		}
	}
	if n > 0 {
		c.DB.Changed(c.Args[1], e)
	}
	return number(n)
}

func srem(c *Call) reply.Value { return c.remove(c.Entry.Set.Delete) }

func sismember(c *Call) reply.Value { return truth(c.Entry.Set.Has(c.Args[2])) }

func smismember(c *Call) reply.Value {
	e, fits := c.find(c.Args[1], store.Set)
	if !fits {
		return errWrongType
	}
	values := make([]reply.Value, len(c.Args)-2)
	for i, member := range c.Args[2:] {
		values[i] = truth(e != nil && e.Set.Has(member))
	}
	return array(values)
}

func smembers(c *Call) reply.Value { return members(c.Entry.Set) }

func members(m *store.Members) reply.Value {
	values := make([]reply.Value, 0, m.Len())
	m.Each(func(member string) { values = append(values, bulk(member)) })
	return unordered(values)
}

func smove(c *Call) reply.Value {
	from, fits := c.find(c.Args[1], store.Set)
	to, alike := c.find(c.Args[2], store.Set)
	switch {
	case from == nil:
		return zero
	case !fits || !alike:
		return errWrongType
	case from == to:
		return truth(from.Set.Has(c.Args[3]))
	case !from.Set.Delete(c.Args[3]):
		return zero
	}
	if to == nil {
		to = c.DB.Create(c.Args[2], store.Set)
	}
	if to.Set.Add(c.Args[3]) {
		c.DB.Changed(c.Args[2], to)
	}
	c.DB.Written(c.Args[1], from)
	return one
}

func spop(c *Call) reply.Value {
	if len(c.Args) > 3 {
		return errSyntax
	}
	count, many, valid := c.popCount()
	if !valid {
		return errPositive
	}
	e, fits := c.find(c.Args[1], store.Set)
	switch {
	case !fits:
		return errWrongType
	case e == nil && many:
		return unordered(nil)
	case e == nil:
		return null
	}
	values := make([]reply.Value, min(count, int64(e.Set.Len())))
	for i := range values {
		member := e.Set.Random()
		e.Set.Delete(member)
		values[i] = bulk(member)
	}
	if len(values) > 0 {
		c.DB.Written(c.Args[1], e)
	}
	if !many {
		return values[0]
	}
	return unordered(values)
}

func srandmember(c *Call) reply.Value {
	return c.sample(store.Set, "", func(e *store.Entry) source {
		return source{
			size: e.Set.Len(),
			any:  func() (string, reply.Value) { return e.Set.Random(), null },
			at:   func(i int) (string, reply.Value) { return e.Set.At(i), null },
		}
	})
}

func sscan(c *Call) reply.Value {
	return c.scanElements(store.Set, func(e *store.Entry, o scanOptions, add func(string, ...string)) uint64 {
		return e.Set.Scan(o.cursor, o.count, func(member string) { add(member) })
	})
}

// sets looks up the sets of these keys; a missing one is empty.
func (c *Call) sets(keys []string) (found []*store.Members, fits bool) {
	for _, key := range keys {
		e, fits := c.find(key, store.Set)
		switch {
		case !fits:
			return nil, false
		case e == nil:
			found = append(found, &store.Members{})
		default:
			found = append(found, e.Set)
		}
	}
	return found, true
}

func unite(sets []*store.Members) *store.Members {
	all := &store.Members{}
	for _, s := range sets {
		s.Each(func(member string) { all.Add(member) })
	}
	return all
}

func intersect(sets []*store.Members) *store.Members {
	return keep(sets, func(s *store.Members, member string) bool { return s.Has(member) })
}

func subtract(sets []*store.Members) *store.Members {
	return keep(sets, func(s *store.Members, member string) bool { return !s.Has(member) })
}

// keep takes those members of the first set that pass for each of the others.
func keep(sets []*store.Members, passes func(s *store.Members, member string) bool) *store.Members {
	kept := &store.Members{}
	sets[0].Each(func(member string) {
		for _, s := range sets[1:] {
			if !passes(s, member) {
				return
			}
		}
		kept.Add(member)
	})
	return kept
}

func (c *Call) combine(how func([]*store.Members) *store.Members) reply.Value {
	found, fits := c.sets(c.Args[1:])
	if !fits {
		return errWrongType
	}
	return members(how(found))
}

func sinter(c *Call) reply.Value { return c.combine(intersect) }
func sunion(c *Call) reply.Value { return c.combine(unite) }
func sdiff(c *Call) reply.Value  { return c.combine(subtract) }

func (c *Call) storeSet(how func([]*store.Members) *store.Members) reply.Value {
	found, fits := c.sets(c.Args[2:])
	if !fits {
		return errWrongType
	}
	return c.keep(c.Args[1], store.Entry{Kind: store.Set, Set: how(found)})
}
