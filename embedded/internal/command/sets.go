package command

import (
	"math"
	"math/rand/v2"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var setCommands = []Command{
	{Name: "sadd", Arity: -3, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: sadd},
	{Name: "srem", Arity: -3, Flags: Write, First: 1, Last: 1, Step: 1, Of: store.Set, Missing: zero, Run: srem},
	{Name: "scard", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.Set, Missing: zero, Run: length},
	{Name: "sismember", Arity: 3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.Set, Missing: zero, Run: sismember},
	{Name: "smismember", Arity: -3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: smismember},
	{Name: "smembers", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.Set, Missing: unordered(nil), Run: smembers},
	{Name: "smove", Arity: 4, Flags: Write, First: 1, Last: 2, Step: 1, Run: smove},
	{Name: "spop", Arity: -2, Flags: Write, First: 1, Last: 1, Step: 1, Run: spop},
	{Name: "srandmember", Arity: -2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: srandmember},
	{Name: "sscan", Arity: -3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: sscan},
	{Name: "sinter", Arity: -2, Flags: ReadOnly, First: 1, Last: -1, Step: 1, Run: sinter},
	{Name: "sunion", Arity: -2, Flags: ReadOnly, First: 1, Last: -1, Step: 1, Run: sunion},
	{Name: "sdiff", Arity: -2, Flags: ReadOnly, First: 1, Last: -1, Step: 1, Run: sdiff},
	{Name: "sinterstore", Arity: -3, Flags: Write | DenyOOM, First: 1, Last: -1, Step: 1, Run: func(c *Call) resp.Value { return c.storeSet(intersect) }},
	{Name: "sunionstore", Arity: -3, Flags: Write | DenyOOM, First: 1, Last: -1, Step: 1, Run: func(c *Call) resp.Value { return c.storeSet(unite) }},
	{Name: "sdiffstore", Arity: -3, Flags: Write | DenyOOM, First: 1, Last: -1, Step: 1, Run: func(c *Call) resp.Value { return c.storeSet(subtract) }},
}

func sadd(c *Call) resp.Value {
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

func srem(c *Call) resp.Value { return c.remove(c.Entry.Set.Delete) }

func sismember(c *Call) resp.Value { return truth(c.Entry.Set.Has(c.Args[2])) }

func smismember(c *Call) resp.Value {
	e, fits := c.find(c.Args[1], store.Set)
	if !fits {
		return errWrongType
	}
	values := make([]resp.Value, len(c.Args)-2)
	for i, member := range c.Args[2:] {
		values[i] = truth(e != nil && e.Set.Has(member))
	}
	return array(values)
}

func smembers(c *Call) resp.Value { return members(c.Entry.Set) }

func members(m *store.Members) resp.Value {
	values := make([]resp.Value, 0, m.Len())
	m.Each(func(member string) { values = append(values, bulk(member)) })
	return unordered(values)
}

func smove(c *Call) resp.Value {
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

func spop(c *Call) resp.Value {
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
	values := make([]resp.Value, min(count, int64(e.Set.Len())))
	for i := range values {
		member := e.Set.At(rand.IntN(e.Set.Len()))
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

// A negative count asks for a reply of any size. Redis begins to send it and ends the connection above client-output-buffer-limit; here
// it is an error above maxSample, in which each element counts for its bytes and sampleOverhead.
const (
	maxSample      = 256 << 20
	sampleOverhead = 64
)

// srandmember answers one member, up to count different ones, or with a negative count that many with repeats.
func srandmember(c *Call) resp.Value {
	count, many, valid := int64(1), len(c.Args) > 2, true
	if many {
		count, valid = parseInt(c.Args[2])
	}
	switch {
	case !valid:
		return errNotInt
	case len(c.Args) > 3:
		return errSyntax
	case count == math.MinInt64:
		return errUnnegatable
	}
	e, fits := c.find(c.Args[1], store.Set)
	switch {
	case !fits:
		return errWrongType
	case e == nil && !many:
		return null
	case e == nil:
		return none
	}
	size := e.Set.Len()
	if !many {
		return bulk(e.Set.At(rand.IntN(size)))
	}
	var found []resp.Value
	if count >= int64(size) {
		return array(members(e.Set).Array)
	}
	if count >= 0 {
		for _, i := range rand.Perm(size)[:count] {
			found = append(found, bulk(e.Set.At(i)))
		}
		return array(found)
	}
	left := int64(maxSample)
	for ; count < 0 && left/sampleOverhead >= -count; count++ {
		member := e.Set.At(rand.IntN(size))
		left -= int64(len(member)) + sampleOverhead
		found = append(found, bulk(member))
	}
	if count < 0 || left < 0 {
		return failure("ERR value is out of range, the reply would exceed 256 MiB")
	}
	return array(found)
}

func sscan(c *Call) resp.Value {
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

func (c *Call) combine(how func([]*store.Members) *store.Members) resp.Value {
	found, fits := c.sets(c.Args[1:])
	if !fits {
		return errWrongType
	}
	return members(how(found))
}

func sinter(c *Call) resp.Value { return c.combine(intersect) }
func sunion(c *Call) resp.Value { return c.combine(unite) }
func sdiff(c *Call) resp.Value  { return c.combine(subtract) }

func (c *Call) storeSet(how func([]*store.Members) *store.Members) resp.Value {
	found, fits := c.sets(c.Args[2:])
	if !fits {
		return errWrongType
	}
	return c.keep(c.Args[1], store.Entry{Kind: store.Set, Set: how(found)})
}
