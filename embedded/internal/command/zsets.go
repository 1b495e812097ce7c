package command

import (
	"math"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var zsetCommands = []Command{
	{Name: "zadd", Arity: -4, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: zadd},
	{Name: "zincrby", Arity: 4, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: zincrby},
	{Name: "zrem", Arity: -3, Flags: Write, First: 1, Last: 1, Step: 1, Of: store.ZSet, Missing: zero, Run: zrem},
	{Name: "zcard", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.ZSet, Missing: zero, Run: length},
	{Name: "zscore", Arity: 3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.ZSet, Run: zscore},
	{Name: "zmscore", Arity: -3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: zmscore},
	{Name: "zrank", Arity: -3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.rank(false) }},
	{Name: "zrevrank", Arity: -3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.rank(true) }},
	{Name: "zpopmin", Arity: -2, Flags: Write, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.zpop(false) }},
	{Name: "zpopmax", Arity: -2, Flags: Write, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.zpop(true) }},
	{Name: "zscan", Arity: -3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: zscan},
}

func zrem(c *Call) resp.Value { return c.remove(c.Entry.ZSet.Delete) }

func score(e *store.Entry, member string) resp.Value {
	if e != nil {
		if f, there := e.ZSet.Score(member); there {
			return double(f)
		}
	}
	return null
}

func zscore(c *Call) resp.Value { return score(c.Entry, c.Args[2]) }

func zmscore(c *Call) resp.Value {
	e, fits := c.find(c.Args[1], store.ZSet)
	if !fits {
		return errWrongType
	}
	values := make([]resp.Value, len(c.Args)-2)
	for i, member := range c.Args[2:] {
		values[i] = score(e, member)
	}
	return array(values)
}

func (c *Call) rank(reverse bool) resp.Value {
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
		return array([]resp.Value{number(rank), score(e, c.Args[2])})
	}
	return number(rank)
}

func (c *Call) zpop(highest bool) resp.Value {
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
	values := make([]resp.Value, 0, 2*count)
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

func zscan(c *Call) resp.Value {
	return c.scanElements(store.ZSet, func(e *store.Entry, o scanOptions, add func(string, ...string)) uint64 {
		return e.ZSet.Scan(o.cursor, o.count, func(n *store.Node) { add(n.Member, formatFloat(n.Score)) })
	})
}

// zaddOptions are the words of ZADD before the first score.
type zaddOptions struct{ onlyNew, onlyOld, higher, lower, changed, increment bool }

func parseZadd(words []string) (o zaddOptions, pairs []string, problem resp.Value) {
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

func (o zaddOptions) check(pairs []string) resp.Value {
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

func zadd(c *Call) resp.Value {
	o, pairs, problem := parseZadd(c.Args[2:])
	if problem.Kind == resp.Error {
		return problem
	}
	return c.zadd(o, pairs)
}

func zincrby(c *Call) resp.Value {
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

func (c *Call) zadd(o zaddOptions, pairs []string) resp.Value {
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

var zrangeCommands = []Command{
	{Name: "zrange", Arity: -4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.zrange(rangeOptions{free: true}) }},
	{Name: "zrevrange", Arity: -4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.zrange(rangeOptions{reverse: true}) }},
	{Name: "zrangebyscore", Arity: -4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.zrange(rangeOptions{by: byScore}) }},
	{Name: "zrevrangebyscore", Arity: -4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.zrange(rangeOptions{by: byScore, reverse: true}) }},
	{Name: "zrangebylex", Arity: -4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.zrange(rangeOptions{by: byLex}) }},
	{Name: "zrevrangebylex", Arity: -4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.zrange(rangeOptions{by: byLex, reverse: true}) }},
	{Name: "zcount", Arity: 4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.zcount(byScore) }},
	{Name: "zlexcount", Arity: 4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.zcount(byLex) }},
	{Name: "zremrangebyrank", Arity: 4, Flags: Write, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.zremrange(byRank) }},
	{Name: "zremrangebyscore", Arity: 4, Flags: Write, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.zremrange(byScore) }},
	{Name: "zremrangebylex", Arity: 4, Flags: Write, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.zremrange(byLex) }},
}

func (c *Call) zrange(o rangeOptions) resp.Value {
	o, problem := o.parse(c.Args[2], c.Args[3], c.Args[4:])
	if problem.Kind == resp.Error {
		return problem
	}
	e, otherwise := c.at(store.ZSet, none)
	if e == nil {
		return otherwise
	}
	values := []resp.Value{}
	o.visit(e.ZSet, func(n *store.Node) {
		values = append(values, bulk(n.Member))
		if o.withScores {
			values = append(values, double(n.Score))
		}
	})
	return elements(values, o.withScores)
}

func (c *Call) zcount(by rangeKind) resp.Value {
	o := rangeOptions{by: by}
	if problem := o.ends(c.Args[2], c.Args[3]); problem.Kind == resp.Error {
		return problem
	}
	e, otherwise := c.at(store.ZSet, zero)
	if e == nil {
		return otherwise
	}
	return number(e.ZSet.Count(o.bounds))
}

func (c *Call) zremrange(by rangeKind) resp.Value {
	o := rangeOptions{by: by, limit: -1}
	if problem := o.ends(c.Args[2], c.Args[3]); problem.Kind == resp.Error {
		return problem
	}
	e, otherwise := c.at(store.ZSet, zero)
	if e == nil {
		return otherwise
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
	reverse    bool
	withScores bool

	limited       bool
	offset, limit int64

	start, stop int64       // byRank
	bounds      store.Range // byScore, byLex
}

func (o rangeOptions) parse(from, to string, words []string) (rangeOptions, resp.Value) {
	o.limit = -1
	for ; len(words) > 0; words = words[1:] {
		switch w := words[0]; {
		case is(w, "withscores"):
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
func (o *rangeOptions) ends(from, to string) resp.Value {
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
