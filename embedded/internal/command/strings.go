package command

import (
	"math"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// maxString is proto-max-bulk-len.
const maxString = 512 << 20

var (
	errOverflow = failure("ERR increment or decrement would overflow")
	errTooLong  = failure("ERR string exceeds maximum allowed size (proto-max-bulk-len)")
	errOffset   = failure("ERR offset is out of range")
	errNotSum   = failure("ERR increment would produce NaN or Infinity")
)

var stringCommands = []Command{
	{Name: "get", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: get},
	{Name: "set", Arity: -3, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: set},
	{Name: "setex", Arity: 4, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: setex},
	{Name: "psetex", Arity: 4, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: setex},
	{Name: "setnx", Arity: 3, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: setnx},
	{Name: "getset", Arity: 3, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: getset},
	{Name: "getdel", Arity: 2, Flags: Write, First: 1, Last: 1, Step: 1, Run: getdel},
	{Name: "getex", Arity: -2, Flags: Write, First: 1, Last: 1, Step: 1, Run: getex},
	{Name: "mget", Arity: -2, Flags: ReadOnly, First: 1, Last: -1, Step: 1, Run: mget},
	{Name: "mset", Arity: -3, Flags: Write | DenyOOM, First: 1, Last: -1, Step: 2, Run: mset},
	{Name: "msetnx", Arity: -3, Flags: Write | DenyOOM, First: 1, Last: -1, Step: 2, Run: mset},
	{Name: "incr", Arity: 2, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.add(1) }},
	{Name: "decr", Arity: 2, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.add(-1) }},
	{Name: "incrby", Arity: 3, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: incrby},
	{Name: "decrby", Arity: 3, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: decrby},
	{Name: "incrbyfloat", Arity: 3, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: incrbyfloat},
	{Name: "append", Arity: 3, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: appendTo},
	{Name: "strlen", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.String, Missing: zero, Run: length},
	{Name: "getrange", Arity: 4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: getrange},
	{Name: "substr", Arity: 4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: getrange},
	{Name: "setrange", Arity: 4, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: setrange},
}

func get(c *Call) resp.Value {
	e, otherwise := c.at(store.String, null)
	if e == nil {
		return otherwise
	}
	return bulk(e.Str)
}

func getset(c *Call) resp.Value {
	old := get(c)
	if old.Kind != resp.Error {
		c.DB.SetString(c.Args[1], c.Args[2], store.Never)
	}
	return old
}

func getdel(c *Call) resp.Value {
	old := get(c)
	if old.Kind == resp.Bulk {
		c.DB.Delete(c.Args[1])
	}
	return old
}

func mget(c *Call) resp.Value {
	values := make([]resp.Value, len(c.Args)-1)
	for i, key := range c.Args[1:] {
		values[i] = null
		if e := c.DB.Get(key, c.Now); e != nil && e.Kind == store.String {
			values[i] = bulk(e.Str)
		}
	}
	return array(values)
}

// mset is MSET and MSETNX.
func mset(c *Call) resp.Value {
	if len(c.Args)%2 == 0 {
		return c.arity()
	}
	onlyNew := is(c.Args[0], "msetnx")
	if onlyNew {
		for i := 1; i < len(c.Args); i += 2 {
			if c.DB.Get(c.Args[i], c.Now) != nil {
				return zero
			}
		}
	}
	for i := 1; i < len(c.Args); i += 2 {
		c.DB.SetString(c.Args[i], c.Args[i+1], store.Never)
	}
	if onlyNew {
		return one
	}
	return okay
}

func incrby(c *Call) resp.Value {
	n, valid := parseInt(c.Args[2])
	if !valid {
		return errNotInt
	}
	return c.add(n)
}

func decrby(c *Call) resp.Value {
	n, valid := parseInt(c.Args[2])
	switch {
	case !valid:
		return errNotInt
	case n == math.MinInt64:
		return failure("ERR decrement would overflow")
	}
	return c.add(-n)
}

func (c *Call) add(by int64) resp.Value {
	key := c.Args[1]
	e, fits := c.find(key, store.String)
	if !fits {
		return errWrongType
	}
	var n int64
	expire := store.Never
	if e != nil {
		if n, fits = parseInt(e.Str); !fits {
			return errNotInt
		}
		expire = e.Expire
	}
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return errOverflow
	}
	n += by
	c.DB.SetString(key, strconv.FormatInt(n, 10), expire)
	return integer(n)
}

func incrbyfloat(c *Call) resp.Value {
	e, fits := c.find(c.Args[1], store.String)
	if !fits {
		return errWrongType
	}
	text, expire := "0", store.Never
	if e != nil {
		text, expire = e.Str, e.Expire
	}
	old, valid := extended(text)
	by, numeric := extended(c.Args[2])
	if !valid || !numeric {
		return errNotFloat
	}
	sum, finite := addExtended(old, by)
	if !finite {
		return errNotSum
	}
	c.DB.SetString(c.Args[1], sum, expire)
	return bulk(sum)
}

// text is the string at a key, empty where there is none, and its expiry.
func (c *Call) text(key string) (text string, expire int64, fits bool) {
	e, fits := c.find(key, store.String)
	if e == nil || !fits {
		return "", store.Never, fits
	}
	return e.Str, e.Expire, true
}

// within turns the ends of a range of GETRANGE and its like, which may count from the end, into ones from the start.
func within(start, end, size int64) (first, last int64) {
	if start < 0 {
		start = max(start+size, 0)
	}
	if end < 0 {
		end = max(end+size, 0)
	}
	return start, min(end, size-1)
}

func appendTo(c *Call) resp.Value {
	e, fits := c.find(c.Args[1], store.String)
	if !fits {
		return errWrongType
	}
	if e == nil {
		c.DB.SetString(c.Args[1], c.Args[2], store.Never)
		return number(len(c.Args[2]))
	}
	if len(e.Str)+len(c.Args[2]) > maxString {
		return errTooLong
	}
	text := e.Str + c.Args[2]
	c.DB.SetString(c.Args[1], text, e.Expire)
	return number(len(text))
}

func getrange(c *Call) resp.Value {
	start, first := parseInt(c.Args[2])
	end, second := parseInt(c.Args[3])
	if !first || !second {
		return errNotInt
	}
	text, _, fits := c.text(c.Args[1])
	switch {
	case !fits:
		return errWrongType
	case start < 0 && end < 0 && start > end:
		return bulk("")
	}
	if start, end = within(start, end, int64(len(text))); start > end {
		return bulk("")
	}
	return bulk(text[start : end+1])
}

func setrange(c *Call) resp.Value {
	at, valid := parseInt(c.Args[2])
	if !valid {
		return errNotInt
	}
	if at < 0 {
		return errOffset
	}
	text, expire, fits := c.text(c.Args[1])
	if !fits {
		return errWrongType
	}
	value := c.Args[3]
	if value == "" {
		return number(len(text))
	}
	if at > maxString-int64(len(value)) {
		return errTooLong
	}
	text = overwrite(text, int(at), value)
	c.DB.SetString(c.Args[1], text, expire)
	return number(len(text))
}

// overwrite puts value into text from byte at on, after NULs where text is shorter.
func overwrite(text string, at int, value string) string {
	var b strings.Builder
	b.Grow(max(len(text), at+len(value)))
	b.WriteString(text[:min(at, len(text))])
	for b.Len() < at {
		b.WriteByte(0)
	}
	b.WriteString(value)
	if b.Len() < len(text) {
		b.WriteString(text[b.Len():])
	}
	return b.String()
}

// setOptions are the words behind SET key value and GETEX key.
type setOptions struct {
	onlyNew, onlyOld, get, keepTTL, persist bool

	unit string // EX, PX, EXAT or PXAT; empty without an expiry
	time string
}

func parseSetOptions(words []string, forGetex bool) (o setOptions, valid bool) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		timed := o.unit != "" || o.keepTTL || o.persist
		switch {
		case is(w, "nx") && !forGetex && !o.onlyOld:
			o.onlyNew = true
		case is(w, "xx") && !forGetex && !o.onlyNew:
			o.onlyOld = true
		case is(w, "get") && !forGetex:
			o.get = true
		case is(w, "keepttl") && !forGetex && o.unit == "":
			o.keepTTL = true
		case is(w, "persist") && forGetex && o.unit == "":
			o.persist = true
		case (is(w, "ex") || is(w, "px") || is(w, "exat") || is(w, "pxat")) && !timed && i+1 < len(words):
			o.unit, o.time = lower(w), words[i+1]
			i++
		default:
			return o, false
		}
	}
	return o, true
}

// deadline turns a time in the given unit into milliseconds since the epoch.
func (c *Call) deadline(unit, text string) (int64, resp.Value) {
	n, valid := parseInt(text)
	if !valid {
		return 0, errNotInt
	}
	seconds := unit == "ex" || unit == "exat"
	if n <= 0 || seconds && n > math.MaxInt64/1000 {
		return 0, badExpire(c.Args[0])
	}
	if seconds {
		n *= 1000
	}
	if unit == "ex" || unit == "px" {
		if n > math.MaxInt64-c.Now {
			return 0, badExpire(c.Args[0])
		}
		n += c.Now
	}
	return n, okay
}

func set(c *Call) resp.Value {
	key, value := c.Args[1], c.Args[2]
	if len(c.Args) == 3 {
		c.DB.SetString(key, value, store.Never)
		return okay
	}
	o, valid := parseSetOptions(c.Args[3:], false)
	if !valid {
		return errSyntax
	}
	expire := store.Never
	if o.unit != "" {
		when, problem := c.deadline(o.unit, o.time)
		if problem.Kind == resp.Error {
			return problem
		}
		expire = when
	}
	if !o.onlyNew && !o.onlyOld && !o.get && !o.keepTTL {
		c.DB.SetString(key, value, expire) // whatever was there
		return okay
	}
	done, refused := okay, null
	e := c.DB.Get(key, c.Now)
	if o.get {
		if done = get(c); done.Kind == resp.Error {
			return done
		}
		refused = done
	}
	if o.onlyNew && e != nil || o.onlyOld && e == nil {
		return refused
	}
	if o.keepTTL && e != nil {
		expire = e.Expire
	}
	c.DB.SetString(key, value, expire)
	return done
}

// setex is SETEX and PSETEX.
func setex(c *Call) resp.Value {
	unit := "px"
	if is(c.Args[0], "setex") {
		unit = "ex"
	}
	when, problem := c.deadline(unit, c.Args[2])
	if problem.Kind == resp.Error {
		return problem
	}
	c.DB.SetString(c.Args[1], c.Args[3], when)
	return okay
}

func setnx(c *Call) resp.Value {
	if c.DB.Get(c.Args[1], c.Now) != nil {
		return zero
	}
	c.DB.SetString(c.Args[1], c.Args[2], store.Never)
	return one
}

func getex(c *Call) resp.Value {
	o, valid := parseSetOptions(c.Args[2:], true)
	if !valid {
		return errSyntax
	}
	value := get(c)
	if value.Kind != resp.Bulk {
		return value
	}
	e := c.DB.Get(c.Args[1], c.Now)
	switch {
	case o.unit != "":
		when, problem := c.deadline(o.unit, o.time)
		if problem.Kind == resp.Error {
			return problem
		}
		if when <= c.Now {
			c.DB.Delete(c.Args[1])
			return value
		}
		c.DB.SetExpire(e, when)
		c.DB.Changed(c.Args[1], e)
	case o.persist && e.Expire != store.Never:
		c.DB.SetExpire(e, store.Never)
		c.DB.Changed(c.Args[1], e)
	}
	return value
}
