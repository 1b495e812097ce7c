package command

import (
	"math"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

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
func (c *Call) deadline(unit, text string) (int64, reply.Value) {
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

func set(c *Call) reply.Value {
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
		if problem.Kind == reply.Error {
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
		if done = get(c); done.Kind == reply.Error {
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
func setex(c *Call) reply.Value {
	unit := "px"
	if is(c.Args[0], "setex") {
		unit = "ex"
	}
	when, problem := c.deadline(unit, c.Args[2])
	if problem.Kind == reply.Error {
		return problem
	}
	c.DB.SetString(c.Args[1], c.Args[3], when)
	return okay
}

func setnx(c *Call) reply.Value {
	if c.DB.Get(c.Args[1], c.Now) != nil {
		return zero
	}
	c.DB.SetString(c.Args[1], c.Args[2], store.Never)
	return one
}

func getex(c *Call) reply.Value {
	o, valid := parseSetOptions(c.Args[2:], true)
	if !valid {
		return errSyntax
	}
	value := get(c)
	if value.Kind != reply.Bulk {
		return value
	}
	e := c.DB.Get(c.Args[1], c.Now)
	switch {
	case o.unit != "":
		when, problem := c.deadline(o.unit, o.time)
		if problem.Kind == reply.Error {
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
