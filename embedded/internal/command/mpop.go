package command

import (
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var mpopCommands = []Command{
	{Name: "lmpop", Arity: -4, Flags: Write, KeysAt: 1, Run: func(c *Call) reply.Value { return c.mpop(store.List) }},
	{Name: "zmpop", Arity: -4, Flags: Write, KeysAt: 1, Run: func(c *Call) reply.Value { return c.mpop(store.ZSet) }},
	{Name: "blmpop", Arity: -5, Flags: Write | Blocking, KeysAt: 2, Run: func(c *Call) reply.Value { return c.blockingMpop(store.List) }},
	{Name: "bzmpop", Arity: -5, Flags: Write | Blocking, KeysAt: 2, Run: func(c *Call) reply.Value { return c.blockingMpop(store.ZSet) }},
}

// A popping takes elements of the first key that has some.
type popping struct {
	kind store.Kind
	keys []string
	take func(c *Call, key string, e *store.Entry) reply.Value
}

// mpop is LMPOP and ZMPOP.
func (c *Call) mpop(kind store.Kind) reply.Value {
	p, problem := parseMpop(kind, c.Args[1:])
	if problem.Kind == reply.Error {
		return problem
	}
	v, _ := p.pop(c, p.keys)
	return v
}

// blockingMpop is BLMPOP and BZMPOP.
func (c *Call) blockingMpop(kind store.Kind) reply.Value {
	p, problem := parseMpop(kind, c.Args[2:])
	if problem.Kind == reply.Error {
		return problem
	}
	return c.popOrBlock(p, c.Args[1])
}

// parseMpop reads the number of keys, and what follows.
func parseMpop(kind store.Kind, words []string) (p popping, problem reply.Value) {
	low, high, take := "left", "right", takeValues
	if kind == store.ZSet {
		low, high, take = "min", "max", takeScored
	}
	keys, words, problem := numberedKeys(words, errSyntax)
	switch {
	case problem.Kind == reply.Error:
		return p, problem
	case len(words) == 0, !is(words[0], low) && !is(words[0], high):
		return p, errSyntax
	}
	atHigh, count := is(words[0], high), int64(1)
	if words = words[1:]; len(words) > 0 {
		if len(words) < 2 || !is(words[0], "count") {
			return p, errSyntax
		}
		var valid bool
		if count, valid = parseInt(words[1]); !valid || count < 1 {
			return p, failure("ERR count should be greater than 0")
		}
		if len(words) > 2 {
			return p, errSyntax
		}
	}
	p = popping{kind: kind, keys: keys, take: func(c *Call, key string, e *store.Entry) reply.Value {
		values := take(e, atHigh, count)
		c.DB.Written(key, e)
		return array([]reply.Value{bulk(key), array(values)})
	}}
	return p, okay
}

func takeValues(e *store.Entry, atTail bool, count int64) []reply.Value {
	values := make([]reply.Value, min(count, int64(e.List.Len())))
	for i := range values {
		values[i] = bulk(take(e.List, !atTail))
	}
	return values
}

func takeScored(e *store.Entry, highest bool, count int64) []reply.Value {
	values := make([]reply.Value, min(count, int64(e.ZSet.Len())))
	for i := range values {
		n := takeNode(e.ZSet, highest)
		values[i] = array([]reply.Value{bulk(n.Member), double(n.Score)})
	}
	return values
}

func takeNode(z *store.Sorted, highest bool) *store.Node {
	n := z.At(0)
	if highest {
		n = z.Highest()
	}
	z.Delete(n.Member)
	return n
}

// pop takes from the first of these keys that has elements. It is done unless there is none.
func (p popping) pop(c *Call, keys []string) (v reply.Value, done bool) {
	for _, key := range keys {
		switch e, fits := c.find(key, p.kind); {
		case !fits:
			return errWrongType, true
		case e != nil:
			return p.take(c, key, e), true
		}
	}
	return nilArray, false
}
