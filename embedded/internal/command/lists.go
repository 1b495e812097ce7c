package command

import (
	"math"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var listCommands = []Command{
	{Name: "lpush", Arity: -3, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: push},
	{Name: "rpush", Arity: -3, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: push},
	{Name: "lpushx", Arity: -3, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: push},
	{Name: "rpushx", Arity: -3, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: push},
	{Name: "lpop", Arity: -2, Flags: Write, First: 1, Last: 1, Step: 1, Run: pop},
	{Name: "rpop", Arity: -2, Flags: Write, First: 1, Last: 1, Step: 1, Run: pop},
	{Name: "llen", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.List, Missing: zero, Run: length},
	{Name: "lindex", Arity: 3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.List, Run: lindex},
	{Name: "lrange", Arity: 4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: lrange},
	{Name: "ltrim", Arity: 4, Flags: Write, First: 1, Last: 1, Step: 1, Run: ltrim},
	{Name: "lset", Arity: 4, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Of: store.List, Missing: errNoKey, Run: lset},
	{Name: "lrem", Arity: 4, Flags: Write, First: 1, Last: 1, Step: 1, Run: lrem},
	{Name: "linsert", Arity: 5, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: linsert},
	{Name: "lpos", Arity: -3, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: lpos},
	{Name: "lmove", Arity: 5, Flags: Write | DenyOOM, First: 1, Last: 2, Step: 1, Run: lmove},
	{Name: "rpoplpush", Arity: 3, Flags: Write | DenyOOM, First: 1, Last: 2, Step: 1, Run: rpoplpush},
}

// atHead tells the side of LPUSH, LPOP and their like.
func (c *Call) atHead() bool { return c.Args[0][0]|0x20 == 'l' }

func push(c *Call) resp.Value {
	key, head := c.Args[1], c.atHead()
	e, fits := c.find(key, store.List)
	switch {
	case !fits:
		return errWrongType
	case e == nil && len(c.Args[0]) == len("lpushx"):
		return zero
	case e == nil:
		e = c.DB.Create(key, store.List)
	}
	for _, value := range c.Args[2:] {
		put(e.List, head, value)
	}
	c.DB.Changed(key, e)
	return number(e.List.Len())
}

func put(q *store.Deque, head bool, value string) {
	if head {
		q.PushFront(value)
	} else {
		q.PushBack(value)
	}
}

func take(q *store.Deque, head bool) string {
	if head {
		return q.PopFront()
	}
	return q.PopBack()
}

// popCount is how many elements LPOP and its like take.
func (c *Call) popCount() (count int64, given, valid bool) {
	if len(c.Args) < 3 {
		return 1, false, true
	}
	count, valid = parseInt(c.Args[2])
	return count, true, valid && count >= 0
}

func pop(c *Call) resp.Value {
	if len(c.Args) > 3 {
		return c.arity()
	}
	key, head := c.Args[1], c.atHead()
	count, many, valid := c.popCount()
	if !valid {
		return errPositive
	}
	e, fits := c.find(key, store.List)
	switch {
	case !fits:
		return errWrongType
	case e == nil && many:
		return nilArray
	case e == nil:
		return null
	case !many:
		value := take(e.List, head)
		c.DB.Written(key, e)
		return bulk(value)
	}
	values := make([]resp.Value, min(count, int64(e.List.Len())))
	for i := range values {
		values[i] = bulk(take(e.List, head))
	}
	if len(values) > 0 {
		c.DB.Written(key, e)
	}
	return array(values)
}

// index reads the place of an element, which may count from the end. It is -1 if there is none.
func (c *Call) index(q *store.Deque) (i int, valid bool) {
	n, valid := parseInt(c.Args[2])
	if n < 0 {
		n += int64(q.Len())
	}
	if n < 0 || n >= int64(q.Len()) {
		return -1, valid
	}
	return int(n), valid
}

func lindex(c *Call) resp.Value {
	q := c.Entry.List
	i, valid := c.index(q)
	switch {
	case !valid:
		return errNotInt
	case i < 0:
		return null
	}
	return bulk(q.At(i))
}

// bounds turns the start and stop of a range, which may count from the end, into [from, to) within n elements.
func bounds(start, stop int64, n int) (from, to int) {
	size := int64(n)
	if start < 0 {
		start = max(start+size, 0)
	}
	if stop < 0 {
		stop += size
	}
	stop = min(stop, size-1)
	if start > stop || start >= size {
		return 0, 0
	}
	return int(start), int(stop) + 1
}

// rangeArgs reads the start and stop of a range at the third and fourth argument.
func (c *Call) rangeArgs() (start, stop int64, valid bool) {
	start, first := parseInt(c.Args[2])
	stop, second := parseInt(c.Args[3])
	return start, stop, first && second
}

func lrange(c *Call) resp.Value {
	start, stop, valid := c.rangeArgs()
	if !valid {
		return errNotInt
	}
	e, otherwise := c.at(store.List, none)
	if e == nil {
		return otherwise
	}
	from, to := bounds(start, stop, e.List.Len())
	values := make([]resp.Value, to-from)
	for i := range values {
		values[i] = bulk(e.List.At(from + i))
	}
	return array(values)
}

func ltrim(c *Call) resp.Value {
	start, stop, valid := c.rangeArgs()
	if !valid {
		return errNotInt
	}
	e, otherwise := c.at(store.List, okay)
	if e == nil {
		return otherwise
	}
	from, to := bounds(start, stop, e.List.Len())
	if from == to {
		c.DB.Delete(c.Args[1])
		return okay
	}
	for range e.List.Len() - to {
		e.List.PopBack()
	}
	for range from {
		e.List.PopFront()
	}
	c.DB.Written(c.Args[1], e)
	return okay
}

func lset(c *Call) resp.Value {
	q := c.Entry.List
	i, valid := c.index(q)
	switch {
	case !valid:
		return errNotInt
	case i < 0:
		return errIndex
	}
	q.Set(i, c.Args[3])
	c.DB.Changed(c.Args[1], c.Entry)
	return okay
}

func lrem(c *Call) resp.Value {
	count, valid := parseInt(c.Args[2])
	switch {
	case !valid:
		return errNotInt
	case count == math.MinInt64:
		return errUnnegatable
	}
	e, otherwise := c.at(store.List, zero)
	if e == nil {
		return otherwise
	}
	limit, fromTail := count, false
	if count < 0 {
		limit, fromTail = -count, true
	}
	n := e.List.Remove(c.Args[3], int(min(limit, math.MaxInt)), fromTail)
	if n > 0 {
		c.DB.Written(c.Args[1], e)
	}
	return number(n)
}

func linsert(c *Call) resp.Value {
	behind := is(c.Args[2], "after")
	if !behind && !is(c.Args[2], "before") {
		return errSyntax
	}
	e, otherwise := c.at(store.List, zero)
	if e == nil {
		return otherwise
	}
	for i := range e.List.Len() {
		if e.List.At(i) != c.Args[3] {
			continue
		}
		if behind {
			i++
		}
		e.List.Insert(i, c.Args[4])
		c.DB.Changed(c.Args[1], e)
		return number(e.List.Len())
	}
	return integer(-1)
}

func rpoplpush(c *Call) resp.Value { return c.move(false, true) }

func lmove(c *Call) resp.Value {
	fromHead, toHead, valid := ends(c.Args[3:])
	if !valid {
		return errSyntax
	}
	return c.move(fromHead, toHead)
}

// ends reads the two words LEFT or RIGHT of LMOVE.
func ends(words []string) (fromHead, toHead, valid bool) {
	var heads [2]bool
	for i, word := range words {
		heads[i] = is(word, "left")
		if !heads[i] && !is(word, "right") {
			return false, false, false
		}
	}
	return heads[0], heads[1], true
}

func (c *Call) move(fromHead, toHead bool) resp.Value {
	from, otherwise := c.at(store.List, null)
	if from == nil {
		return otherwise
	}
	to, fits := c.obtain(c.Args[2], store.List)
	if !fits {
		return errWrongType
	}
	value := take(from.List, fromHead)
	put(to.List, toHead, value)
	c.DB.Changed(c.Args[2], to)
	c.DB.Written(c.Args[1], from)
	return bulk(value)
}

// lposOptions are the words of LPOS: which match to begin with, how many to give, how many elements to look at.
type lposOptions struct {
	rank, count, length int64
	many                bool
}

func parseLpos(words []string) (o lposOptions, problem resp.Value) {
	o = lposOptions{rank: 1, count: 1}
	for i := 0; i < len(words); i += 2 {
		if i+1 == len(words) {
			return o, errSyntax
		}
		n, valid := parseInt(words[i+1])
		switch {
		case is(words[i], "rank"):
			if !valid {
				return o, errNotInt
			}
			if n == math.MinInt64 {
				return o, errUnnegatable
			}
			if n == 0 {
				return o, failure("ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list")
			}
			o.rank = n
		case is(words[i], "count"):
			if !valid || n < 0 {
				return o, failure("ERR COUNT can't be negative")
			}
			o.count, o.many = n, true
		case is(words[i], "maxlen"):
			if !valid || n < 0 {
				return o, failure("ERR MAXLEN can't be negative")
			}
			o.length = n
		default:
			return o, errSyntax
		}
	}
	return o, okay
}

func lpos(c *Call) resp.Value {
	o, problem := parseLpos(c.Args[3:])
	if problem.Kind == resp.Error {
		return problem
	}
	e, fits := c.find(c.Args[1], store.List)
	if !fits {
		return errWrongType
	}
	found := []resp.Value{}
	if e != nil {
		found = o.search(e.List, c.Args[2])
	}
	switch {
	case o.many:
		return array(found)
	case len(found) == 0:
		return null
	}
	return found[0]
}

func (o lposOptions) search(q *store.Deque, value string) []resp.Value {
	found := []resp.Value{}
	skip := o.rank - 1
	if o.rank < 0 {
		skip = -o.rank - 1
	}
	looks := q.Len()
	if o.length > 0 {
		looks = int(min(o.length, int64(looks)))
	}
	for k := range looks {
		i := k
		if o.rank < 0 {
			i = q.Len() - 1 - k
		}
		switch {
		case q.At(i) != value:
		case skip > 0:
			skip--
		default:
			found = append(found, number(i))
			if o.count > 0 && int64(len(found)) == o.count {
				return found
			}
		}
	}
	return found
}
