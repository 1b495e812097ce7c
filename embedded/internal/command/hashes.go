package command

import (
	"math"
	"strconv"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var hashCommands = []Command{
	{Name: "hset", Arity: -4, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: hset},
	{Name: "hmset", Arity: -4, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: hset},
	{Name: "hsetnx", Arity: 4, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: hsetnx},
	{Name: "hget", Arity: 3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.Hash, Run: hget},
	{Name: "hmget", Arity: -3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: hmget},
	{Name: "hdel", Arity: -3, Flags: Write, First: 1, Last: 1, Step: 1, Of: store.Hash, Missing: zero, Run: hdel},
	{Name: "hexists", Arity: 3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.Hash, Missing: zero, Run: hexists},
	{Name: "hlen", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.Hash, Missing: zero, Run: length},
	{Name: "hstrlen", Arity: 3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.Hash, Missing: zero, Run: hstrlen},
	{Name: "hgetall", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.Hash, Missing: dictionary(), Run: func(c *Call) resp.Value { return c.hashAll(true, true) }},
	{Name: "hkeys", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.Hash, Missing: none, Run: func(c *Call) resp.Value { return c.hashAll(true, false) }},
	{Name: "hvals", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.Hash, Missing: none, Run: func(c *Call) resp.Value { return c.hashAll(false, true) }},
	{Name: "hincrby", Arity: 4, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: hincrby},
	{Name: "hincrbyfloat", Arity: 4, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: hincrbyfloat},
	{Name: "hscan", Arity: -3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: hscan},
}

// hset is HSET and HMSET, which differ in their reply.
func hset(c *Call) resp.Value {
	if len(c.Args)%2 != 0 {
		return c.arity()
	}
	e, fits := c.obtain(c.Args[1], store.Hash)
	if !fits {
		return errWrongType
	}
	created := 0
	for i := 2; i < len(c.Args); i += 2 {
		if e.Hash.Set(c.Args[i], c.Args[i+1]) {
			created++
		}
	}
	c.DB.Changed(c.Args[1], e)
	if is(c.Args[0], "hmset") {
		return okay
	}
	return number(created)
}

func hsetnx(c *Call) resp.Value {
	e, fits := c.obtain(c.Args[1], store.Hash)
	if !fits {
		return errWrongType
	}
	if _, there := e.Hash.Get(c.Args[2]); there {
		return zero
	}
	e.Hash.Set(c.Args[2], c.Args[3])
	c.DB.Changed(c.Args[1], e)
	return one
}

func hget(c *Call) resp.Value {
	if value, there := c.Entry.Hash.Get(c.Args[2]); there {
		return bulk(value)
	}
	return null
}

func hexists(c *Call) resp.Value {
	_, there := c.Entry.Hash.Get(c.Args[2])
	return truth(there)
}

func hstrlen(c *Call) resp.Value {
	value, _ := c.Entry.Hash.Get(c.Args[2])
	return number(len(value))
}

func hmget(c *Call) resp.Value {
	e, fits := c.find(c.Args[1], store.Hash)
	if !fits {
		return errWrongType
	}
	values := make([]resp.Value, len(c.Args)-2)
	for i, field := range c.Args[2:] {
		values[i] = null
		if e != nil {
			if value, there := e.Hash.Get(field); there {
				values[i] = bulk(value)
			}
		}
	}
	return array(values)
}

func hdel(c *Call) resp.Value {
	return c.remove(c.Entry.Hash.Delete)
}

func (c *Call) hashAll(fields, values bool) resp.Value {
	all := make([]resp.Value, 0, 2*c.Entry.Hash.Len())
	c.Entry.Hash.Each(func(field, value string) {
		if fields {
			all = append(all, bulk(field))
		}
		if values {
			all = append(all, bulk(value))
		}
	})
	if fields && values {
		return dictionary(all...)
	}
	return array(all)
}

// field looks one field up.
func (c *Call) field() (value string, there, fits bool) {
	e, fits := c.find(c.Args[1], store.Hash)
	if fits && e != nil {
		value, there = e.Hash.Get(c.Args[2])
	}
	return value, there, fits
}

func hincrby(c *Call) resp.Value {
	by, valid := parseInt(c.Args[3])
	if !valid {
		return errNotInt
	}
	text, there, fits := c.field()
	if !fits {
		return errWrongType
	}
	var n int64
	if there {
		if n, valid = parseInt(text); !valid {
			return failure("ERR hash value is not an integer")
		}
	}
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return errOverflow
	}
	n += by
	c.setField(strconv.FormatInt(n, 10))
	return integer(n)
}

func (c *Call) setField(value string) {
	e, _ := c.obtain(c.Args[1], store.Hash) // looked at before: it is a hash
	e.Hash.Set(c.Args[2], value)
	c.DB.Changed(c.Args[1], e)
}

func hincrbyfloat(c *Call) resp.Value {
	by, valid := extended(c.Args[3])
	if !valid {
		return errNotFloat
	}
	if by.IsInf() {
		return failure("ERR value is NaN or Infinity")
	}
	text, there, fits := c.field()
	if !fits {
		return errWrongType
	}
	if !there {
		text = "0"
	}
	old, valid := extended(text)
	if !valid {
		return failure("ERR hash value is not a float")
	}
	sum, finite := addExtended(old, by)
	if !finite {
		return errNotSum
	}
	c.setField(sum)
	return bulk(sum)
}

func hscan(c *Call) resp.Value {
	return c.scanElements(store.Hash, func(e *store.Entry, o scanOptions, add func(string, ...string)) uint64 {
		return e.Hash.Scan(o.cursor, o.count, func(field, value string) { add(field, value) })
	})
}
