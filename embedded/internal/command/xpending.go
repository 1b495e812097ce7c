package command

import (
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// pendingOptions are the words of the long form of XPENDING.
type pendingOptions struct {
	idle, count int64
	first, last store.StreamID
	consumer    string
	named       bool
}

func parsePending(words []string) (o pendingOptions, problem reply.Value) {
	var valid bool
	if is(words[0], "idle") {
		if o.idle, valid = parseInt(words[1]); !valid {
			return o, errNotInt
		}
		if words = words[2:]; len(words) < 3 {
			return o, errSyntax
		}
	}
	if o.count, valid = parseInt(words[2]); !valid {
		return o, errNotInt
	}
	if o.first, o.last, problem = streamInterval(words[0], words[1]); problem.Kind == reply.Error {
		return o, problem
	}
	if len(words) > 3 {
		o.consumer, o.named = words[3], true
	}
	return o, okay
}

func xpending(c *Call) reply.Value {
	n := len(c.Args)
	if n != 3 && (n < 6 || n > 9) {
		return errSyntax
	}
	var o pendingOptions
	if n > 3 {
		var problem reply.Value
		if o, problem = parsePending(c.Args[3:]); problem.Kind == reply.Error {
			return problem
		}
	}
	e, fits := c.find(c.Args[1], store.StreamKind)
	switch {
	case !fits:
		return errWrongType
	case e == nil || e.Stream.Group(c.Args[2]) == nil:
		return noKeyOrGroup(c.Args[1], c.Args[2])
	}
	g := e.Stream.Group(c.Args[2])
	if n == 3 {
		return pendingSummary(g)
	}
	return o.list(g, c.Now)
}

func pendingSummary(g *store.Group) reply.Value {
	first, any := g.Pending.First()
	if !any {
		return array([]reply.Value{zero, null, null, nilArray})
	}
	last, _ := g.Pending.Last()
	var consumers []reply.Value
	for _, c := range g.Consumers() {
		if c.Pending.Len() > 0 {
			consumers = append(consumers, array([]reply.Value{bulk(c.Name), bulk(itoa(int64(c.Pending.Len())))}))
		}
	}
	return array([]reply.Value{number(g.Pending.Len()), streamID(first), streamID(last), array(consumers)})
}

func (o pendingOptions) list(g *store.Group, now int64) reply.Value {
	pending := &g.Pending
	if o.named {
		consumer := g.Known(o.consumer)
		if consumer == nil {
			return none
		}
		pending = &consumer.Pending
	}
	values := []reply.Value{}
	for id, d := range pending.Ascend(o.first) {
		if id.Compare(o.last) > 0 || int64(len(values)) >= o.count {
			break
		}
		if o.idle == 0 || now-d.Time >= o.idle {
			values = append(values, array([]reply.Value{streamID(id), bulk(d.Consumer.Name), integer(max(now-d.Time, 0)), integer(d.Count)}))
		}
	}
	return array(values)
}
