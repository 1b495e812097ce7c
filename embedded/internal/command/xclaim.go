package command

import (
	"math"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// claim is what XCLAIM and XAUTOCLAIM do with each entry.
type claim struct {
	idle          int64
	time          int64 // of the delivery
	retries       int64 // its count; negative: one more
	force, justID bool
	last          store.StreamID
}

func (c *Call) parseClaim(words []string) (o claim, problem reply.Value) {
	o.time, o.retries = c.Now, -1
	number := func(what string) (n int64) {
		var valid bool
		if n, valid = parseInt(words[1]); !valid {
			problem = failure("ERR Invalid " + what + " option argument for XCLAIM")
		}
		words = words[1:]
		return n
	}
	for problem = okay; len(words) > 0 && problem.Kind != reply.Error; words = words[1:] {
		switch w, more := words[0], len(words) > 1; {
		case is(w, "force"):
			o.force = true
		case is(w, "justid"):
			o.justID = true
		case is(w, "idle") && more:
			o.time = c.Now - number("IDLE")
		case is(w, "time") && more:
			o.time = number("TIME")
		case is(w, "retrycount") && more:
			o.retries = number("RETRYCOUNT")
		case is(w, "lastid") && more:
			var valid bool
			if o.last, valid = parseStreamID(words[1], 0); !valid {
				return o, errStreamID
			}
			words = words[1:]
		default:
			return o, failure("ERR Unrecognized XCLAIM option '" + cText(w) + "'")
		}
	}
	if o.time < 0 || o.time > c.Now {
		o.time = c.Now
	}
	return o, problem
}

// minIdle reads the minimum idle time.
func (c *Call) minIdle() (int64, reply.Value) {
	n, valid := parseInt(c.Args[4])
	if !valid {
		return 0, failure("ERR Invalid min-idle-time argument for " + upper(c.Args[0]))
	}
	return max(n, 0), okay
}

func xclaim(c *Call) reply.Value {
	e, fits := c.find(c.Args[1], store.StreamKind)
	switch {
	case !fits:
		return errWrongType
	case e == nil || e.Stream.Group(c.Args[2]) == nil:
		return noKeyOrGroup(c.Args[1], c.Args[2])
	}
	idle, problem := c.minIdle()
	if problem.Kind == reply.Error {
		return problem
	}
	var ids []store.StreamID
	words := c.Args[5:]
	for ; len(words) > 0; words = words[1:] {
		id, valid := parseStreamID(words[0], 0)
		if !valid {
			break
		}
		ids = append(ids, id)
	}
	o, problem := c.parseClaim(words)
	if problem.Kind == reply.Error {
		return problem
	}
	o.idle = idle
	g := e.Stream.Group(c.Args[2])
	if o.last.Compare(g.Last) > 0 {
		g.Last = o.last
	}
	values := []reply.Value{}
	for _, id := range ids {
		if v, claimed := o.take(c, e.Stream, g, id); claimed {
			values = append(values, v)
		}
	}
	c.DB.Changed(c.Args[1], e)
	return array(values)
}

// take gives one entry to the consumer, and drops the delivery of an entry that is no longer there.
func (o claim) take(c *Call, s *store.Stream, g *store.Group, id store.StreamID) (v reply.Value, claimed bool) {
	d, pending := g.Pending.Get(id)
	fields, there := s.Entries.Get(id)
	switch {
	case !there:
		g.Ack(id)
		return v, false
	case !pending && !o.force, pending && o.idle > 0 && c.Now-d.Time < o.idle:
		return v, false
	}
	count := int64(0)
	if pending {
		count = d.Count
	} else {
		count = 1 // as Redis makes it: a forced one has been delivered once before
	}
	switch {
	case o.retries >= 0:
		count = o.retries
	case !o.justID:
		count++
	}
	g.Deliver(id, g.Consumer(c.Args[3], c.Now), o.time, count)
	if o.justID {
		return streamID(id), true
	}
	return entry(id, fields), true
}

func xautoclaim(c *Call) reply.Value {
	idle, problem := c.minIdle()
	if problem.Kind == reply.Error {
		return problem
	}
	from, _, problem := streamInterval(c.Args[5], "+")
	if problem.Kind == reply.Error {
		return problem
	}
	o := claim{idle: idle, time: c.Now, retries: -1}
	count := int64(100)
	for words := c.Args[6:]; len(words) > 0; words = words[1:] {
		switch {
		case is(words[0], "count") && len(words) > 1:
			n, valid := parseInt(words[1])
			if !valid || n < 1 || n > math.MaxInt64/16 {
				return failure("ERR COUNT must be > 0")
			}
			count = n
			words = words[1:]
		case is(words[0], "justid"):
			o.justID = true
		default:
			return errSyntax
		}
	}
	e, fits := c.find(c.Args[1], store.StreamKind)
	switch {
	case !fits:
		return errWrongType
	case e == nil || e.Stream.Group(c.Args[2]) == nil:
		return noKeyOrGroup(c.Args[1], c.Args[2])
	}
	return c.autoclaim(o, e, from, count)
}

// autoclaim looks at up to ten times as many deliveries as it may claim.
func (c *Call) autoclaim(o claim, e *store.Entry, from store.StreamID, count int64) reply.Value {
	g := e.Stream.Group(c.Args[2])
	var looked []store.StreamID
	for id := range g.Pending.Ascend(from) {
		if looked = append(looked, id); int64(len(looked)) > 10*count {
			break // one more than are looked at: where to go on
		}
	}
	claimed, deleted := []reply.Value{}, []reply.Value{}
	var next store.StreamID
	for i, id := range looked {
		if int64(i) == 10*count || int64(len(claimed)+len(deleted)) == count {
			next = id
			break
		}
		_, there := e.Stream.Entries.Get(id)
		if v, taken := o.take(c, e.Stream, g, id); taken {
			claimed = append(claimed, v)
		} else if !there {
			deleted = append(deleted, streamID(id))
		}
	}
	c.DB.Changed(c.Args[1], e)
	return array([]reply.Value{streamID(next), array(claimed), array(deleted)})
}
