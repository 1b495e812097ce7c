package command

import (
	"math"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var zsetCommands = []Command{
	{Name: "zadd", Arity: -4, Flags: Write | DenyOOM | Fast, First: 1, Last: 1, Step: 1, Run: zadd},
	{Name: "zincrby", Arity: 4, Flags: Write | DenyOOM | Fast, First: 1, Last: 1, Step: 1, Run: zincrby},
	{Name: "zrem", Arity: -3, Flags: Write | Fast, First: 1, Last: 1, Step: 1, Of: store.ZSet, Missing: zero, Run: zrem},
	{Name: "zcard", Arity: 2, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Of: store.ZSet, Missing: zero, Run: length},
	{Name: "zscore", Arity: 3, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Of: store.ZSet, Run: zscore},
	{Name: "zmscore", Arity: -3, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Run: zmscore},
	{Name: "zrank", Arity: -3, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.rank(false) }},
	{Name: "zrevrank", Arity: -3, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.rank(true) }},
	{Name: "zpopmin", Arity: -2, Flags: Write | Fast, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.zpop(false) }},
	{Name: "zpopmax", Arity: -2, Flags: Write | Fast, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.zpop(true) }},
	{Name: "zrandmember", Arity: -2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: zrandmember},
	{Name: "zscan", Arity: -3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: zscan},
}

func zrem(c *Call) reply.Value { return c.remove(c.Entry.ZSet.Delete) }

func score(e *store.Entry, member string) reply.Value {
	if e != nil {
		if f, there := e.ZSet.Score(member); there {
			return double(f)
		}
	}
	return null
}

func zscore(c *Call) reply.Value { return score(c.Entry, c.Args[2]) }

func zmscore(c *Call) reply.Value {
	e, fits := c.find(c.Args[1], store.ZSet)
	if !fits {
		return errWrongType
	}
	values := make([]reply.Value, len(c.Args)-2)
	for i, member := range c.Args[2:] {
		values[i] = score(e, member)
	}
	return array(values)
}

func (c *Call) rank(reverse bool) reply.Value {
	withScore := false
	if len(c.Args) > 3 {
		if withScore = len(c.Args) == 4 && is(c.Args[3], "withscore"); !withScore {
			return errSyntax
		}
	}
	e, fits := c.find(c.Args[1], store.ZSet)
	if !fits {
		return errWrongType
	}
	rank, there := 0, false
	if e != nil {
		rank, there = e.ZSet.Rank(c.Args[2])
	}
	switch {
	case !there && withScore:
		return nilArray
	case !there:
		return null
	}
	if reverse {
		rank = e.ZSet.Len() - 1 - rank
	}
	if withScore {
		return array([]reply.Value{number(rank), score(e, c.Args[2])})
	}
	return number(rank)
}

func (c *Call) zpop(highest bool) reply.Value {
	if len(c.Args) > 3 {
		return errSyntax
	}
	count, many, valid := c.popCount()
	if !valid {
		return errPositive
	}
	e, fits := c.find(c.Args[1], store.ZSet)
	switch {
	case !fits:
		return errWrongType
	case e == nil || count == 0:
		return none
	}
	count = min(count, int64(e.ZSet.Len()))
	values := make([]reply.Value, 0, 2*count)
	for range count {
		n := takeNode(e.ZSet, highest)
		values = append(values, bulk(n.Member), double(n.Score))
	}
	c.DB.Written(c.Args[1], e)
	return elements(values, many)
}

// takeNode removes the lowest or the highest member.
func takeNode(z *store.Sorted, highest bool) *store.Node {
	n := z.At(0)
	if highest {
		n = z.Highest()
	}
	z.Delete(n.Member)
	return n
}

func zrandmember(c *Call) reply.Value {
	return c.sample(store.ZSet, "withscores", func(e *store.Entry) source {
		pair := func(n *store.Node) (string, reply.Value) { return n.Member, double(n.Score) }
		return source{
			size: e.ZSet.Len(),
			any:  func() (string, reply.Value) { return pair(e.ZSet.Random()) },
			at:   func(i int) (string, reply.Value) { return pair(e.ZSet.At(i)) },
		}
	})
}

func zscan(c *Call) reply.Value {
	return c.scanElements(store.ZSet, func(e *store.Entry, o scanOptions, add func(string, ...string)) uint64 {
		return e.ZSet.Scan(o.cursor, o.count, func(n *store.Node) { add(n.Member, formatFloat(n.Score)) })
	})
}

// zaddOptions are the words of ZADD before the first score.
type zaddOptions struct{ onlyNew, onlyOld, higher, lower, changed, increment bool }

func parseZadd(words []string) (o zaddOptions, pairs []string, problem reply.Value) {
	for len(words) > 0 {
		switch w := words[0]; {
		case is(w, "nx"):
			o.onlyNew = true
		case is(w, "xx"):
			o.onlyOld = true
		case is(w, "gt"):
			o.higher = true
		case is(w, "lt"):
			o.lower = true
		case is(w, "ch"):
			o.changed = true
		case is(w, "incr"):
			o.increment = true
		default:
			return o, words, o.check(words)
		}
		words = words[1:]
	}
	return o, nil, errSyntax
}

func (o zaddOptions) check(pairs []string) reply.Value {
	switch {
	case len(pairs)%2 != 0:
		return errSyntax
	case o.onlyNew && o.onlyOld:
		return failure("ERR XX and NX options at the same time are not compatible")
	case o.higher && o.onlyNew, o.lower && o.onlyNew, o.higher && o.lower:
		return failure("ERR GT, LT, and/or NX options at the same time are not compatible")
	case o.increment && len(pairs) > 2:
		return failure("ERR INCR option supports a single increment-element pair")
	}
	return okay
}

func zadd(c *Call) reply.Value {
	o, pairs, problem := parseZadd(c.Args[2:])
	if problem.Kind == reply.Error {
		return problem
	}
	return c.zadd(o, pairs)
}

func zincrby(c *Call) reply.Value {
	return c.zadd(zaddOptions{increment: true}, c.Args[2:])
}

// A step is what ZADD did with one pair.
type step int

const (
	refused step = iota // by an option
	kept                // it had this score
	updated
	added
)

func (c *Call) zadd(o zaddOptions, pairs []string) reply.Value {
	scores := make([]float64, len(pairs)/2)
	for i := range scores {
		f, valid := parseFloat(pairs[2*i])
		if !valid {
			return errNotFloat
		}
		scores[i] = f
	}
	key := c.Args[1]
	e, fits := c.find(key, store.ZSet)
	switch {
	case !fits:
		return errWrongType
	case e == nil && o.onlyOld && o.increment:
		return null
	case e == nil && o.onlyOld:
		return zero
	case e == nil:
		e = c.DB.Create(key, store.ZSet)
	}
	defer c.DB.Written(key, e)

	var counts [added + 1]int
	for i, f := range scores {
		did, f := o.put(e.ZSet, pairs[2*i+1], f)
		if math.IsNaN(f) {
			return failure("ERR resulting score is not a number (NaN)")
		}
		counts[did]++
		if o.increment {
			if did == refused {
				return null
			}
			if did == added {
				f = scores[i] // -0 is stored as 0, yet answered as it was given
			}
			return double(f)
		}
	}
	if o.changed {
		return number(counts[added] + counts[updated])
	}
	return number(counts[added])
}

// put stores one member and returns its score; NaN if that is not a number, and nothing is stored.
func (o zaddOptions) put(z *store.Sorted, member string, f float64) (step, float64) {
	if f == 0 {
		f = 0 // -0 is 0, as in Redis's compact encoding
	}
	old, there := z.Score(member)
	if !there {
		if o.onlyOld {
			return refused, 0
		}
		z.Set(member, f)
		return added, f
	}
	if o.onlyNew {
		return refused, old
	}
	if o.increment {
		f += old
	}
	switch {
	case math.IsNaN(f):
		return refused, f
	case o.lower && f >= old, o.higher && f <= old:
		return refused, old
	case f == old:
		return kept, f
	}
	z.Set(member, f)
	return updated, f
}
