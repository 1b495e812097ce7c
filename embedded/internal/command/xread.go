package command

import (
	"math"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// readOptions are the words of XREAD and XREADGROUP.
type readOptions struct {
	group, consumer string
	grouped, noAck  bool
	count           int64 // 0: all
	blocks          bool
	timeout         int64
	keys, ids       []string
}

// streamKeys finds the keys of XREAD and XREADGROUP: the first half of what follows STREAMS.
func streamKeys(args []string) []string {
	for i := 1; i < len(args); i++ {
		switch {
		case is(args[i], "block"), is(args[i], "count"):
			i++
		case is(args[i], "group"):
			i += 2
		case is(args[i], "streams"):
			rest := args[i+1:]
			return rest[:len(rest)/2]
		}
	}
	return nil
}

func (c *Call) parseRead(grouped bool) (o readOptions, problem reply.Value) {
	for words := c.Args[1:]; o.keys == nil; words = words[1:] {
		if len(words) == 0 {
			return o, errSyntax
		}
		var valid bool
		switch w, more := words[0], len(words)-1; {
		case is(w, "block") && more > 0:
			if c.Scripted {
				return o, failure("ERR " + c.Args[0] + " command is not allowed with BLOCK option from scripts")
			}
			if o.timeout, problem = milliseconds(words[1]); problem.Kind == reply.Error {
				return o, problem
			}
			o.blocks = true
			words = words[1:]
		case is(w, "count") && more > 0:
			if o.count, valid = parseInt(words[1]); !valid {
				return o, errNotInt
			}
			o.count = max(o.count, 0)
			words = words[1:]
		case is(w, "streams") && more > 0:
			if more%2 != 0 {
				return o, failure("ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.")
			}
			o.keys, o.ids = words[1:1+more/2], words[1+more/2:]
		case is(w, "group") && more > 1:
			if !grouped {
				return o, failure("ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.")
			}
			o.group, o.consumer, o.grouped = words[1], words[2], true
			words = words[2:]
		case is(w, "noack"):
			if !grouped {
				return o, failure("ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.")
			}
			o.noAck = true
		default:
			return o, errSyntax
		}
	}
	if grouped && !o.grouped {
		return o, failure("ERR Missing GROUP option for XREADGROUP")
	}
	return o, okay
}

// newest stands for the ID >.
var newest = store.LastStreamID

// resolve reads the IDs after which to begin.
func (o *readOptions) resolve(c *Call) (ids []store.StreamID, problem reply.Value) {
	ids = make([]store.StreamID, len(o.ids))
	for i, s := range o.ids {
		e, fits := c.find(o.keys[i], store.StreamKind)
		switch {
		case !fits:
			return nil, errWrongType
		case o.grouped && (e == nil || e.Stream.Group(o.group) == nil):
			return nil, failure("NOGROUP No such key '" + cText(o.keys[i]) + "' or consumer group '" + cText(o.group) + "' in XREADGROUP with GROUP option")
		case s == "$" && o.grouped:
			return nil, failure("ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set.")
		case s == "$":
			if e != nil {
				ids[i] = e.Stream.Last
			}
			continue
		case s == ">" && !o.grouped:
			return nil, failure("ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.")
		case s == ">":
			ids[i] = newest
			continue
		}
		var valid bool
		if ids[i], valid = parseStreamID(s, 0); !valid {
			return nil, errStreamID
		}
	}
	return ids, okay
}

// xread is XREAD and XREADGROUP.
func xread(c *Call) reply.Value {
	o, problem := c.parseRead(len(c.Args[0]) == len("xreadgroup"))
	if problem.Kind == reply.Error {
		return problem
	}
	ids, problem := o.resolve(c)
	if problem.Kind == reply.Error {
		return problem
	}
	if v, any := o.read(c, ids); any || !o.blocks {
		return v
	}
	return c.block(blocking{
		keys: o.keys, timeout: o.timeout, expired: nilArray,
		try: func(c *Call, keys []string) (reply.Value, bool) {
			if problem := o.gone(c, keys); problem.Kind == reply.Error {
				return problem, true
			}
			return o.read(c, ids)
		},
	})
}

// gone is an error if one of these keys no longer holds the group that the command waits for.
func (o *readOptions) gone(c *Call, keys []string) reply.Value {
	if !o.grouped {
		return okay
	}
	for _, key := range keys {
		e, fits := c.find(key, store.StreamKind)
		switch {
		case e == nil || !fits:
			return failure("UNBLOCKED the stream key no longer exists")
		case e.Stream.Group(o.group) == nil:
			return failure("NOGROUP the consumer group this client was blocked on no longer exists")
		}
	}
	return okay
}

// read returns the entries of all streams that have some.
func (o *readOptions) read(c *Call, after []store.StreamID) (v reply.Value, any bool) {
	var values []reply.Value
	for i, key := range o.keys {
		e, fits := c.find(key, store.StreamKind)
		if e == nil || !fits {
			continue
		}
		var found []reply.Value
		switch {
		case !o.grouped:
			if found = entriesAfter(e.Stream, after[i], o.count); len(found) == 0 {
				continue
			}
		case after[i] == newest:
			if found = o.deliver(c, e.Stream); len(found) == 0 {
				continue
			}
			c.DB.Changed(key, e)
		default:
			found = o.history(c, e.Stream, after[i])
		}
		values = append(values, bulk(key), array(found))
	}
	if values == nil {
		return nilArray, false
	}
	return reply.Of(reply.NestedMap, values...), true
}

func entriesAfter(s *store.Stream, after store.StreamID, count int64) (found []reply.Value) {
	from, ok := after.Next()
	if !ok {
		return nil
	}
	for id, fields := range s.Entries.Ascend(from) {
		found = append(found, entry(id, fields))
		if int64(len(found)) == count {
			break
		}
	}
	return found
}

// deliver gives the consumer what its group has not seen.
func (o *readOptions) deliver(c *Call, s *store.Stream) (found []reply.Value) {
	g := s.Group(o.group)
	from, ok := g.Last.Next()
	if !ok {
		return nil
	}
	var consumer *store.Consumer
	for id, fields := range s.Entries.Ascend(from) {
		if consumer == nil {
			consumer = g.Consumer(o.consumer, c.Now)
		}
		found = append(found, entry(id, fields))
		s.Advance(g, id)
		if !o.noAck {
			g.Deliver(id, consumer, c.Now, 1)
		}
		if int64(len(found)) == o.count {
			break
		}
	}
	return found
}

// history gives the consumer again what it has not acknowledged.
func (o *readOptions) history(c *Call, s *store.Stream, after store.StreamID) []reply.Value {
	found := []reply.Value{}
	consumer := s.Group(o.group).Consumer(o.consumer, c.Now)
	from, _ := after.Next()
	for id, d := range consumer.Pending.Ascend(from) {
		if fields, there := s.Entries.Get(id); there {
			found = append(found, entry(id, fields))
			d.Time = c.Now
			d.Count++
		} else {
			found = append(found, array([]reply.Value{streamID(id), nilArray}))
		}
		if int64(len(found)) == o.count {
			break
		}
	}
	return found
}

// milliseconds reads a timeout.
func milliseconds(s string) (int64, reply.Value) {
	n, valid := parseInt(s)
	switch {
	case !valid:
		return 0, failure("ERR timeout is not an integer or out of range")
	case n < 0:
		return 0, failure("ERR timeout is negative")
	}
	return min(n, math.MaxInt64/4), okay
}
