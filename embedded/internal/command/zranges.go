package command

import (
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var zrangeCommands = []Command{
	{Name: "zrange", Arity: -4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.zrange(rangeOptions{free: true}) }},
	{Name: "zrangestore", Arity: -5, Flags: Write | DenyOOM, First: 1, Last: 2, Step: 1, Run: zrangestore},
	{Name: "zrevrange", Arity: -4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.zrange(rangeOptions{reverse: true}) }},
	{Name: "zrangebyscore", Arity: -4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.zrange(rangeOptions{by: byScore}) }},
	{Name: "zrevrangebyscore", Arity: -4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.zrange(rangeOptions{by: byScore, reverse: true}) }},
	{Name: "zrangebylex", Arity: -4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.zrange(rangeOptions{by: byLex}) }},
	{Name: "zrevrangebylex", Arity: -4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.zrange(rangeOptions{by: byLex, reverse: true}) }},
	{Name: "zcount", Arity: 4, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.zcount(byScore) }},
	{Name: "zlexcount", Arity: 4, Flags: ReadOnly | Fast, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.zcount(byLex) }},
	{Name: "zremrangebyrank", Arity: 4, Flags: Write, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.zremrange(byRank) }},
	{Name: "zremrangebyscore", Arity: 4, Flags: Write, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.zremrange(byScore) }},
	{Name: "zremrangebylex", Arity: 4, Flags: Write, First: 1, Last: 1, Step: 1, Run: func(c *Call) reply.Value { return c.zremrange(byLex) }},
}

func (c *Call) zrange(o rangeOptions) reply.Value {
	o, problem := o.parse(c.Args[2], c.Args[3], c.Args[4:])
	if problem.Kind == reply.Error {
		return problem
	}
	e, fits := c.find(c.Args[1], store.ZSet)
	switch {
	case !fits:
		return errWrongType
	case e == nil:
		return none
	}
	values := []reply.Value{}
	o.visit(e.ZSet, func(n *store.Node) {
		values = append(values, bulk(n.Member))
		if o.withScores {
			values = append(values, double(n.Score))
		}
	})
	return elements(values, o.withScores)
}

func zrangestore(c *Call) reply.Value {
	o, problem := rangeOptions{free: true, store: true}.parse(c.Args[3], c.Args[4], c.Args[5:])
	if problem.Kind == reply.Error {
		return problem
	}
	e, fits := c.find(c.Args[2], store.ZSet)
	if !fits {
		return errWrongType
	}
	result := store.NewSorted()
	if e != nil {
		o.visit(e.ZSet, func(n *store.Node) { result.Set(n.Member, n.Score) })
	}
	return c.keep(c.Args[1], store.Entry{Kind: store.ZSet, ZSet: result})
}

func (c *Call) zcount(by rangeKind) reply.Value {
	o := rangeOptions{by: by}
	if problem := o.ends(c.Args[2], c.Args[3]); problem.Kind == reply.Error {
		return problem
	}
	e, fits := c.find(c.Args[1], store.ZSet)
	switch {
	case !fits:
		return errWrongType
	case e == nil:
		return zero
	}
	return number(e.ZSet.Count(o.bounds))
}

func (c *Call) zremrange(by rangeKind) reply.Value {
	o := rangeOptions{by: by, limit: -1}
	if problem := o.ends(c.Args[2], c.Args[3]); problem.Kind == reply.Error {
		return problem
	}
	e, fits := c.find(c.Args[1], store.ZSet)
	switch {
	case !fits:
		return errWrongType
	case e == nil:
		return zero
	}
	var gone []string
	o.visit(e.ZSet, func(n *store.Node) { gone = append(gone, n.Member) })
	for _, member := range gone {
		e.ZSet.Delete(member)
	}
	if len(gone) > 0 {
		c.DB.Written(c.Args[1], e)
	}
	return number(len(gone))
}

type rangeKind int

const (
	byRank rangeKind = iota
	byScore
	byLex
)

// rangeOptions say which members of a sorted set a command is about.
type rangeOptions struct {
	by         rangeKind
	free       bool // BYSCORE, BYLEX and REV may be given
	store      bool // no WITHSCORES
	reverse    bool
	withScores bool

	limited       bool
	offset, limit int64

	start, stop int64       // byRank
	bounds      store.Range // byScore, byLex
}

func (o rangeOptions) parse(from, to string, words []string) (rangeOptions, reply.Value) {
	o.limit = -1
	for ; len(words) > 0; words = words[1:] {
		switch w := words[0]; {
		case is(w, "withscores") && !o.store:
			o.withScores = true
		case is(w, "limit") && len(words) > 2:
			var first, second bool
			o.offset, first = parseInt(words[1])
			o.limit, second = parseInt(words[2])
			if !first || !second {
				return o, errNotInt
			}
			o.limited = true
			words = words[2:]
		case is(w, "rev") && o.free && !o.reverse:
			o.reverse = true
		case is(w, "bylex") && o.free && o.by == byRank:
			o.by = byLex
		case is(w, "byscore") && o.free && o.by == byRank:
			o.by = byScore
		default:
			return o, errSyntax
		}
	}
	switch {
	case o.limited && o.limit != -1 && o.by == byRank:
		return o, failure("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")
	case o.withScores && o.by == byLex:
		return o, failure("ERR syntax error, WITHSCORES not supported in combination with BYLEX")
	}
	if o.reverse && o.by != byRank {
		from, to = to, from
	}
	problem := o.ends(from, to)
	return o, problem
}

// ends reads the two ends of the range, the lower first.
func (o *rangeOptions) ends(from, to string) reply.Value {
	var first, second bool
	switch o.by {
	case byRank:
		o.start, first = parseInt(from)
		o.stop, second = parseInt(to)
		if !first || !second {
			return errNotInt
		}
	case byScore:
		var s store.Scores
		s.Min, s.MinExclusive, first = scoreEnd(from)
		s.Max, s.MaxExclusive, second = scoreEnd(to)
		if !first || !second {
			return errMinMax
		}
		o.bounds = s
	case byLex:
		var x store.Lexes
		x.Min, first = lexEnd(from)
		x.Max, second = lexEnd(to)
		if !first || !second {
			return errLex
		}
		o.bounds = x
	}
	return okay
}

func scoreEnd(s string) (f float64, exclusive, valid bool) {
	s, exclusive = strings.CutPrefix(s, "(")
	if s = cText(s); s == "" {
		return 0, exclusive, true // as C's strtod reads it
	}
	if f, valid = parseFloat(s); !valid {
		f, valid = beyondDouble(s)
	}
	return f, exclusive, valid
}

func lexEnd(s string) (store.LexBound, bool) {
	switch {
	case s == "-":
		return store.LexBound{Infinite: -1}, true
	case s == "+":
		return store.LexBound{Infinite: 1}, true
	case strings.HasPrefix(s, "["):
		return store.LexBound{Member: s[1:]}, true
	case strings.HasPrefix(s, "("):
		return store.LexBound{Member: s[1:], Exclusive: true}, true
	}
	return store.LexBound{}, false
}

// visit walks the members in the order of the reply.
func (o rangeOptions) visit(z *store.Sorted, take func(*store.Node)) {
	if o.by == byRank {
		o.visitRanks(z, take)
		return
	}
	if o.offset < 0 {
		return
	}
	n, next, past := z.First(o.bounds), (*store.Node).Next, o.bounds.Above
	if o.reverse {
		n, next, past = z.Last(o.bounds), (*store.Node).Prev, o.bounds.Below
	}
	left := o.limit
	for skip := o.offset; n != nil && left != 0 && !past(n); n = next(n) {
		if skip > 0 {
			skip--
			continue
		}
		take(n)
		left--
	}
}

func (o rangeOptions) visitRanks(z *store.Sorted, take func(*store.Node)) {
	from, to := bounds(o.start, o.stop, z.Len())
	if from == to {
		return
	}
	n, next := z.At(from), (*store.Node).Next
	if o.reverse {
		n, next = z.At(z.Len()-1-from), (*store.Node).Prev
	}
	for range to - from {
		take(n)
		n = next(n)
	}
}
