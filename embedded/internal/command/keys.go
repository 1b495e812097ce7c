package command

import (
	"math"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var keyCommands = []Command{
	{Name: "del", Arity: -2, Flags: Write, First: 1, Last: -1, Step: 1, Run: del},
	{Name: "unlink", Arity: -2, Flags: Write, First: 1, Last: -1, Step: 1, Run: del},
	{Name: "exists", Arity: -2, Flags: ReadOnly, First: 1, Last: -1, Step: 1, Run: exists},
	{Name: "touch", Arity: -2, Flags: ReadOnly, First: 1, Last: -1, Step: 1, Run: exists},
	{Name: "type", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: typeOf},
	{Name: "keys", Arity: 2, Flags: ReadOnly, Run: keys},
	{Name: "scan", Arity: -2, Flags: ReadOnly, Run: scan},
	{Name: "rename", Arity: 3, Flags: Write, First: 1, Last: 2, Step: 1, Run: rename},
	{Name: "renamenx", Arity: 3, Flags: Write, First: 1, Last: 2, Step: 1, Run: rename},
	{Name: "dbsize", Arity: 1, Flags: ReadOnly, Run: dbsize},
	{Name: "flushdb", Arity: -1, Flags: Write, Run: flush},
	{Name: "flushall", Arity: -1, Flags: Write, Run: flush},
}

func del(c *Call) resp.Value {
	n := 0
	for _, key := range c.Args[1:] {
		if c.DB.Get(key, c.Now) != nil && c.DB.Delete(key) {
			n++
		}
	}
	return number(n)
}

func exists(c *Call) resp.Value {
	n := 0
	for _, key := range c.Args[1:] {
		if c.DB.Get(key, c.Now) != nil {
			n++
		}
	}
	return number(n)
}

func typeOf(c *Call) resp.Value {
	kind := store.None
	if e := c.DB.Get(c.Args[1], c.Now); e != nil {
		kind = e.Kind
	}
	return status(kind.String())
}

func keys(c *Call) resp.Value {
	var found []resp.Value
	c.DB.Each(c.Now, func(key string, _ *store.Entry) {
		if matches(c.Args[1], key) {
			found = append(found, bulk(key))
		}
	})
	return array(found)
}

// rename is RENAME and RENAMENX.
func rename(c *Call) resp.Value {
	from, to := c.Args[1], c.Args[2]
	onlyNew := is(c.Args[0], "renamenx")
	e := c.DB.Get(from, c.Now)
	switch {
	case e == nil:
		return errNoKey
	case onlyNew && c.DB.Get(to, c.Now) != nil:
		return zero
	}
	if from != to {
		moved := *e
		c.DB.Delete(from)
		c.DB.Put(to, moved)
	}
	if onlyNew {
		return one
	}
	return okay
}

// dbsize first removes some of the keys whose time has come, as Redis would have done meanwhile.
func dbsize(c *Call) resp.Value {
	c.DB.Sweep(sweepKeys, c.Now)
	return number(c.DB.Len())
}

// flush is FLUSHDB and FLUSHALL. Libraries of functions stay.
func flush(c *Call) resp.Value {
	if len(c.Args) > 2 || len(c.Args) == 2 && !is(c.Args[1], "sync") && !is(c.Args[1], "async") {
		return errSyntax
	}
	if is(c.Args[0], "flushdb") {
		c.DB.Flush()
		return okay
	}
	for i := range c.State.DBs {
		c.State.DBs[i].Flush()
	}
	return okay
}

var expiryCommands = []Command{
	{Name: "expire", Arity: -3, Flags: Write, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.expire(1000, true) }},
	{Name: "pexpire", Arity: -3, Flags: Write, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.expire(1, true) }},
	{Name: "expireat", Arity: -3, Flags: Write, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.expire(1000, false) }},
	{Name: "pexpireat", Arity: -3, Flags: Write, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.expire(1, false) }},
	{Name: "ttl", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.ttl(1000, true) }},
	{Name: "pttl", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.ttl(1, true) }},
	{Name: "expiretime", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.ttl(1000, false) }},
	{Name: "pexpiretime", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.ttl(1, false) }},
	{Name: "persist", Arity: 2, Flags: Write, First: 1, Last: 1, Step: 1, Run: persist},
}

// ttl returns the time left (or with relative unset, the moment of expiry), rounded to the nearest unit, which is given in milliseconds.
func (c *Call) ttl(unit int64, relative bool) resp.Value {
	e := c.DB.Get(c.Args[1], c.Now)
	switch {
	case e == nil:
		return integer(-2)
	case e.Expire == store.Never:
		return integer(-1)
	}
	left := e.Expire
	if relative {
		left = max(left-c.Now, 0)
	}
	return integer((left + unit/2) / unit)
}

type expireConditions struct{ onlyNew, onlyOld, later, sooner bool }

func parseExpireConditions(words []string) (o expireConditions, problem resp.Value) {
	for _, w := range words {
		switch {
		case is(w, "nx"):
			o.onlyNew = true
		case is(w, "xx"):
			o.onlyOld = true
		case is(w, "gt"):
			o.later = true
		case is(w, "lt"):
			o.sooner = true
		default:
			return o, failure("ERR Unsupported option " + cText(w))
		}
	}
	switch {
	case o.onlyNew && (o.onlyOld || o.later || o.sooner):
		return o, failure("ERR NX and XX, GT or LT options at the same time are not compatible")
	case o.later && o.sooner:
		return o, failure("ERR GT and LT options at the same time are not compatible")
	}
	return o, okay
}

func (o expireConditions) allow(old, when int64) bool {
	switch {
	case o.onlyNew && old != store.Never, o.onlyOld && old == store.Never:
		return false
	case o.later && when <= old, o.sooner && when >= old:
		return false
	}
	return true
}

func (c *Call) expire(unit int64, relative bool) resp.Value {
	o, problem := parseExpireConditions(c.Args[3:])
	if problem.Kind == resp.Error {
		return problem
	}
	when, valid := parseInt(c.Args[2])
	if !valid {
		return errNotInt
	}
	if when > math.MaxInt64/unit || when < math.MinInt64/unit {
		return badExpire(c.Args[0])
	}
	when *= unit
	if relative {
		if when > 0 && c.Now > math.MaxInt64-when {
			return badExpire(c.Args[0])
		}
		when += c.Now
	}
	key := c.Args[1]
	e := c.DB.Get(key, c.Now)
	if e == nil || !o.allow(e.Expire, when) {
		return zero
	}
	if when <= c.Now {
		c.DB.Delete(key)
		return one
	}
	c.DB.SetExpire(e, when)
	c.DB.Changed(key, e)
	return one
}

func persist(c *Call) resp.Value {
	e := c.DB.Get(c.Args[1], c.Now)
	if e == nil || e.Expire == store.Never {
		return zero
	}
	c.DB.SetExpire(e, store.Never)
	c.DB.Changed(c.Args[1], e)
	return one
}

// scanOptions are the words of the SCAN family.
type scanOptions struct {
	cursor uint64
	count  int
	match  string
	kind   string
	all    bool // no pattern
}

func (o scanOptions) wants(name string) bool { return o.all || matches(o.match, name) }

var errCursor = failure("ERR invalid cursor")

func parseScan(cursor string, words []string, forKeys bool) (o scanOptions, problem resp.Value) {
	o = scanOptions{count: 10, all: true}
	digits, negative := strings.CutPrefix(cursor, "-")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || negative && n != 0 {
		return o, errCursor
	}
	o.cursor = n
	for i := 0; i < len(words); i += 2 {
		if i+1 == len(words) {
			return o, errSyntax
		}
		switch value := words[i+1]; {
		case is(words[i], "count"):
			n, valid := parseInt(value)
			switch {
			case !valid:
				return o, errNotInt
			case n < 1:
				return o, errSyntax
			}
			o.count = int(min(n, 1<<30))
		case is(words[i], "match"):
			o.match, o.all = value, value == "*"
		case is(words[i], "type") && forKeys:
			o.kind = lower(value)
		default:
			return o, errSyntax
		}
	}
	return o, okay
}

func page(cursor uint64, found []resp.Value) resp.Value {
	return array([]resp.Value{bulk(strconv.FormatUint(cursor, 10)), array(found)})
}

func scan(c *Call) resp.Value {
	o, problem := parseScan(c.Args[1], c.Args[2:], true)
	if problem.Kind == resp.Error {
		return problem
	}
	var found []resp.Value
	next := c.DB.Scan(o.cursor, o.count, c.Now, func(key string, e *store.Entry) {
		if (o.kind == "" || o.kind == e.Kind.String()) && o.wants(key) {
			found = append(found, bulk(key))
		}
	})
	return page(next, found)
}

// scanElements is HSCAN, SSCAN and ZSCAN: walk visits the elements, each of which may be a name and a value.
func (c *Call) scanElements(kind store.Kind, walk func(e *store.Entry, o scanOptions, add func(name string, more ...string)) uint64) resp.Value {
	e, fits := c.find(c.Args[1], kind)
	o, problem := parseScan(c.Args[2], c.Args[3:], false)
	switch {
	case problem.Str == errCursor.Str:
		return problem
	case !fits:
		return errWrongType
	case e == nil: // the words are not read then
		return page(0, nil)
	case problem.Kind == resp.Error:
		return problem
	}
	var found []resp.Value
	next := walk(e, o, func(name string, more ...string) {
		if o.wants(name) {
			found = append(found, bulk(name))
			for _, m := range more {
				found = append(found, bulk(m))
			}
		}
	})
	return page(next, found)
}

// matches reports whether name as a whole matches a pattern of KEYS, SCAN and FUNCTION LIST: ? is any byte, * any run of bytes, [a-c] and [^a-c] a set, \ takes the next byte as it is.
func matches(pattern, name string) bool {
	// Where to go on if the text after the last star does not fit: one byte further in name.
	star, resume := -1, 0
	p, n := 0, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, resume = p, n
			p++
			continue
		}
		if next, fits := element(pattern, p, name[n]); fits {
			p = next
			n++
			continue
		}
		if star < 0 {
			return false
		}
		resume++
		p, n = star+1, resume
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// element matches b against the element of pattern at p and returns where the next element begins.
func element(pattern string, p int, b byte) (next int, fits bool) {
	if p >= len(pattern) {
		return p, false
	}
	switch pattern[p] {
	case '?':
		return p + 1, true
	case '[':
		return bracket(pattern, p+1, b)
	case '\\':
		if p+1 < len(pattern) {
			p++
		}
	}
	return p + 1, pattern[p] == b
}

func bracket(pattern string, p int, b byte) (next int, fits bool) {
	negated := p < len(pattern) && pattern[p] == '^'
	if negated {
		p++
	}
	for p < len(pattern) && pattern[p] != ']' {
		switch {
		case pattern[p] == '\\' && p+1 < len(pattern):
			p++
			fits = fits || pattern[p] == b
		case p+2 < len(pattern) && pattern[p+1] == '-':
			low, high := pattern[p], pattern[p+2]
			if low > high {
				low, high = high, low
			}
			p += 2
			fits = fits || low <= b && b <= high
		default:
			fits = fits || pattern[p] == b
		}
		p++
	}
	return min(p+1, len(pattern)), fits != negated
}
