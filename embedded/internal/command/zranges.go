package command

import (
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
