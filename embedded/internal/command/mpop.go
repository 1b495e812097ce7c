package command

import (
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var mpopCommands = []Command{
	{Name: "lmpop", Arity: -4, Flags: Write, KeysAt: 1, Run: lmpop},
	{Name: "zmpop", Arity: -4, Flags: Write, KeysAt: 1, Run: zmpop},
}

// mpop reads the words of LMPOP and ZMPOP, and finds the first key that has elements.
func (c *Call) mpop(kind store.Kind, low, high string) (key string, e *store.Entry, atHigh bool, count int64, problem reply.Value) {
	keys, words, problem := c.numberedKeys(errSyntax)
	switch {
	case problem.Kind == reply.Error:
		return key, nil, false, 0, problem
	case len(words) == 0, !is(words[0], low) && !is(words[0], high):
		return key, nil, false, 0, errSyntax
	}
	atHigh, count = is(words[0], high), 1
	if words = words[1:]; len(words) > 0 {
		if len(words) != 2 || !is(words[0], "count") {
			return key, nil, false, 0, errSyntax
		}
		var valid bool
		if count, valid = parseInt(words[1]); !valid || count < 1 {
			return key, nil, false, 0, failure("ERR count should be greater than 0")
		}
	}
	for _, key := range keys {
		e, fits := c.find(key, kind)
		if !fits {
			return key, nil, false, 0, errWrongType
		}
		if e != nil {
			return key, e, atHigh, count, okay
		}
	}
	return key, nil, false, 0, okay
}

func lmpop(c *Call) reply.Value {
	key, e, tail, count, problem := c.mpop(store.List, "left", "right")
	switch {
	case problem.Kind == reply.Error:
		return problem
	case e == nil:
		return nilArray
	}
	values := make([]reply.Value, min(count, int64(e.List.Len())))
	for i := range values {
		values[i] = bulk(take(e.List, !tail))
	}
	c.DB.Written(key, e)
	return array([]reply.Value{bulk(key), array(values)})
}

func zmpop(c *Call) reply.Value {
	key, e, highest, count, problem := c.mpop(store.ZSet, "min", "max")
	switch {
	case problem.Kind == reply.Error:
		return problem
	case e == nil:
		return nilArray
	}
	values := make([]reply.Value, min(count, int64(e.ZSet.Len())))
	for i := range values {
		n := e.ZSet.At(0)
		if highest {
			n = e.ZSet.Highest()
		}
		values[i] = array([]reply.Value{bulk(n.Member), bulk(formatFloat(n.Score))})
		e.ZSet.Delete(n.Member)
	}
	c.DB.Written(key, e)
	return array([]reply.Value{bulk(key), array(values)})
}
