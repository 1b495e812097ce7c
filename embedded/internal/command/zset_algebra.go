package command

import (
	"cmp"
	"math"
	"slices"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var zalgebraCommands = []Command{
	{Name: "zunion", Arity: -3, Flags: ReadOnly, KeysAt: 1, Run: func(c *Call) reply.Value { return c.zcombine(union) }},
	{Name: "zinter", Arity: -3, Flags: ReadOnly, KeysAt: 1, Run: func(c *Call) reply.Value { return c.zcombine(intersection) }},
	{Name: "zdiff", Arity: -3, Flags: ReadOnly, KeysAt: 1, Run: func(c *Call) reply.Value { return c.zcombine(difference) }},
	{Name: "zunionstore", Arity: -4, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, KeysAt: 2, Run: func(c *Call) reply.Value { return c.zstore(union) }},
	{Name: "zinterstore", Arity: -4, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, KeysAt: 2, Run: func(c *Call) reply.Value { return c.zstore(intersection) }},
	{Name: "zdiffstore", Arity: -4, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, KeysAt: 2, Run: func(c *Call) reply.Value { return c.zstore(difference) }},
	{Name: "zintercard", Arity: -3, Flags: ReadOnly, KeysAt: 1, Run: zintercard},
	{Name: "sintercard", Arity: -3, Flags: ReadOnly, KeysAt: 1, Run: sintercard},
}

type combination int

const (
	union combination = iota
	intersection
	difference
)

// A scored is one input of ZUNION and its like: a sorted set, or a set whose members have the score 1.
type scored struct {
	zset   *store.Sorted
	set    *store.Members
	weight float64
}

func (s scored) len() int {
	switch {
	case s.zset != nil:
		return s.zset.Len()
	case s.set != nil:
		return s.set.Len()
	}
	return 0
}

func (s scored) score(member string) (f float64, there bool) {
	switch {
	case s.zset != nil:
		f, there = s.zset.Score(member)
	case s.set != nil:
		f, there = 1, s.set.Has(member)
	}
	return s.weigh(f), there
}

func (s scored) each(visit func(member string, f float64)) {
	switch {
	case s.zset != nil:
		for n := s.zset.At(0); n != nil; n = n.Next() {
			visit(n.Member, s.weigh(n.Score))
		}
	case s.set != nil:
		s.set.Each(func(member string) { visit(member, s.weigh(1)) })
	}
}

// weigh never gives NaN.
func (s scored) weigh(f float64) float64 {
	if f *= s.weight; math.IsNaN(f) {
		return 0
	}
	return f
}

// algebra is a parsed command of this family.
type algebra struct {
	how        combination
	inputs     []scored
	aggregate  func(a, b float64) float64
	withScores bool
}

func plus(a, b float64) float64 {
	if a += b; math.IsNaN(a) {
		return 0 // of opposite infinities
	}
	return a
}

// parseAlgebra reads the number of keys, the keys and the words behind them.
func (c *Call) parseAlgebra(how combination, words []string, stores bool) (a algebra, problem reply.Value) {
	a, rest, problem := c.parseInputs(how, words)
	if problem.Kind == reply.Error {
		return a, problem
	}
	return a, a.options(rest, stores)
}

func (c *Call) parseInputs(how combination, words []string) (a algebra, rest []string, problem reply.Value) {
	n, valid := parseInt(words[0])
	switch {
	case !valid:
		return a, nil, errNotInt
	case n < 1:
		return a, nil, failure("ERR at least 1 input key is needed for '" + lower(c.Args[0]) + "' command")
	case n > int64(len(words)-1):
		return a, nil, errSyntax
	}
	a.how, a.aggregate = how, plus
	for _, key := range words[1 : 1+n] {
		in := scored{weight: 1}
		if e := c.DB.Get(key, c.Now); e != nil {
			if e.Kind != store.ZSet && e.Kind != store.Set {
				return a, nil, errWrongType
			}
			in.zset, in.set = e.ZSet, e.Set
		}
		a.inputs = append(a.inputs, in)
	}
	return a, words[1+n:], okay
}

func (a *algebra) options(words []string, stores bool) reply.Value {
	for ; len(words) > 0; words = words[1:] {
		switch w := words[0]; {
		case is(w, "weights") && a.how != difference && len(words) > len(a.inputs):
			for i := range a.inputs {
				f, valid := parseFloat(words[1+i])
				if !valid {
					return failure("ERR weight value is not a float")
				}
				a.inputs[i].weight = f
			}
			words = words[len(a.inputs):]
		case is(w, "aggregate") && a.how != difference && len(words) > 1:
			switch {
			case is(words[1], "sum"):
				a.aggregate = plus
			case is(words[1], "min"):
				a.aggregate = func(a, b float64) float64 { return min(a, b) }
			case is(words[1], "max"):
				a.aggregate = func(a, b float64) float64 { return max(a, b) }
			default:
				return errSyntax
			}
			words = words[1:]
		case is(w, "withscores") && !stores:
			a.withScores = true
		default:
			return errSyntax
		}
	}
	return okay
}

func (a algebra) result() *store.Sorted {
	z := store.NewSorted()
	if a.how == difference {
		a.inputs[0].each(func(member string, f float64) {
			for _, in := range a.inputs[1:] {
				if _, there := in.score(member); there {
					return
				}
			}
			z.Set(member, f)
		})
		return z
	}
	// The smallest first, as in Redis: sums of fractions depend on the order.
	slices.SortStableFunc(a.inputs, func(x, y scored) int { return cmp.Compare(x.len(), y.len()) })
	if a.how == union {
		for _, in := range a.inputs {
			in.each(func(member string, f float64) {
				if old, there := z.Score(member); there {
					f = a.aggregate(old, f)
				}
				z.Set(member, f)
			})
		}
		return z
	}
	a.inputs[0].each(func(member string, f float64) {
		for _, in := range a.inputs[1:] {
			other, there := in.score(member)
			if !there {
				return
			}
			f = a.aggregate(f, other)
		}
		z.Set(member, f)
	})
	return z
}

func (c *Call) zcombine(how combination) reply.Value {
	a, problem := c.parseAlgebra(how, c.Args[1:], false)
	if problem.Kind == reply.Error {
		return problem
	}
	values := []reply.Value{}
	for n := a.result().At(0); n != nil; n = n.Next() {
		values = append(values, bulk(n.Member))
		if a.withScores {
			values = append(values, double(n.Score))
		}
	}
	return elements(values, a.withScores)
}

func (c *Call) zstore(how combination) reply.Value {
	a, problem := c.parseAlgebra(how, c.Args[2:], true)
	if problem.Kind == reply.Error {
		return problem
	}
	return c.keep(c.Args[1], store.Entry{Kind: store.ZSet, ZSet: a.result()})
}

// cardLimit reads the limit of SINTERCARD and ZINTERCARD.
func cardLimit(words []string) (limit int64, problem reply.Value) {
	for ; len(words) > 0; words = words[2:] {
		if len(words) < 2 || !is(words[0], "limit") {
			return 0, errSyntax
		}
		n, valid := parseInt(words[1])
		if !valid || n < 0 {
			return 0, failure("ERR LIMIT can't be negative")
		}
		limit = n
	}
	return limit, okay
}

// limited is a size, or the limit if that is lower.
func limited(n int, limit int64) reply.Value {
	if limit > 0 && int64(n) > limit {
		return integer(limit)
	}
	return number(n)
}

func zintercard(c *Call) reply.Value {
	a, words, problem := c.parseInputs(intersection, c.Args[1:])
	if problem.Kind == reply.Error {
		return problem
	}
	limit, problem := cardLimit(words)
	if problem.Kind == reply.Error {
		return problem
	}
	return limited(a.result().Len(), limit)
}

func sintercard(c *Call) reply.Value {
	n, valid := parseInt(c.Args[1])
	behind := c.Args[2:]
	switch {
	case !valid || n < 1:
		return failure("ERR numkeys should be greater than 0")
	case n > int64(len(behind)):
		return failure("ERR Number of keys can't be greater than number of args")
	}
	keys, words := behind[:n], behind[n:]
	limit, problem := cardLimit(words)
	if problem.Kind == reply.Error {
		return problem
	}
	found, fits := c.sets(keys)
	if !fits {
		return errWrongType
	}
	return limited(intersect(found).Len(), limit)
}
