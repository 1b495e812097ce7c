package command

import (
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// known is a number, or null if it is unknown.
func known(n int64) reply.Value {
	if n == store.Unknown {
		return null
	}
	return integer(n)
}

// stream looks up the stream of XINFO.
func (c *Call) stream() (s *store.Stream, problem reply.Value) {
	e, fits := c.find(c.Args[2], store.StreamKind)
	switch {
	case e == nil:
		return nil, errNoKey
	case !fits:
		return nil, errWrongType
	}
	return e.Stream, okay
}

func xinfoGroups(c *Call) reply.Value {
	s, problem := c.stream()
	if problem.Kind == reply.Error {
		return problem
	}
	values := []reply.Value{}
	for _, g := range s.Groups() {
		values = append(values, maps(
			bulk("name"), bulk(g.Name), bulk("consumers"), number(len(g.Consumers())), bulk("pending"), number(g.Pending.Len()),
			bulk("last-delivered-id"), streamID(g.Last), bulk("entries-read"), known(g.Read), bulk("lag"), known(s.Lag(g)),
		))
	}
	return array(values)
}

func xinfoConsumers(c *Call) reply.Value {
	s, problem := c.stream()
	if problem.Kind == reply.Error {
		return problem
	}
	g := s.Group(c.Args[3])
	if g == nil {
		return noGroupFor(c.Args[3], c.Args[2])
	}
	values := []reply.Value{}
	for _, consumer := range g.Consumers() {
		values = append(values, maps(
			bulk("name"), bulk(consumer.Name), bulk("pending"), number(consumer.Pending.Len()), bulk("idle"), integer(max(c.Now-consumer.Seen, 0)),
		))
	}
	return array(values)
}

// xinfoStream estimates the sizes of Redis's radix tree, which is not what holds a stream here.
func xinfoStream(c *Call) reply.Value {
	count, full := int64(10), len(c.Args) > 3
	if full {
		if !is(c.Args[3], "full") || len(c.Args) != 4 && (len(c.Args) != 6 || !is(c.Args[4], "count")) {
			return c.subcommandSyntax()
		}
		if len(c.Args) == 6 {
			n, valid := parseInt(c.Args[5])
			if !valid {
				return errNotInt
			}
			if count = n; n < 0 {
				count = 10
			}
		}
	}
	s, problem := c.stream()
	if problem.Kind == reply.Error {
		return problem
	}
	about := []reply.Value{
		bulk("length"), number(s.Entries.Len()), bulk("radix-tree-keys"), number(s.Entries.Nodes()), bulk("radix-tree-nodes"), number(s.Entries.Nodes() + 1),
		bulk("last-generated-id"), streamID(s.Last),
		bulk("max-deleted-entry-id"), streamID(s.MaxDeleted), bulk("entries-added"), integer(int64(s.Added)),
		bulk("recorded-first-entry-id"), streamID(s.First()),
	}
	if full {
		return maps(append(about, bulk("entries"), array(entriesFrom(s, count)), bulk("groups"), array(fullGroups(s, count)))...)
	}
	first, last := null, null
	for id, fields := range s.Entries.Ascend(store.StreamID{}) {
		first = entry(id, fields)
		break
	}
	for id, fields := range s.Entries.Descend(store.LastStreamID) {
		last = entry(id, fields)
		break
	}
	return maps(append(about, bulk("groups"), number(len(s.Groups())), bulk("first-entry"), first, bulk("last-entry"), last)...)
}

func entriesFrom(s *store.Stream, count int64) []reply.Value {
	found := []reply.Value{}
	for id, fields := range s.Entries.Ascend(store.StreamID{}) {
		if found = append(found, entry(id, fields)); int64(len(found)) == count {
			break
		}
	}
	return found
}

func fullGroups(s *store.Stream, count int64) (values []reply.Value) {
	for _, g := range s.Groups() {
		consumers := []reply.Value{}
		for _, consumer := range g.Consumers() {
			consumers = append(consumers, maps(
				bulk("name"), bulk(consumer.Name), bulk("seen-time"), integer(consumer.Seen), bulk("pel-count"), number(consumer.Pending.Len()),
				bulk("pending"), deliveries(&consumer.Pending, count, false),
			))
		}
		values = append(values, maps(
			bulk("name"), bulk(g.Name), bulk("last-delivered-id"), streamID(g.Last), bulk("entries-read"), known(g.Read), bulk("lag"), known(s.Lag(g)),
			bulk("pel-count"), number(g.Pending.Len()), bulk("pending"), deliveries(&g.Pending, count, true), bulk("consumers"), array(consumers),
		))
	}
	return values
}

func deliveries(pending *store.ByID[*store.Delivery], count int64, named bool) reply.Value {
	values := []reply.Value{}
	for id, d := range pending.Ascend(store.StreamID{}) {
		one := []reply.Value{streamID(id)}
		if named {
			one = append(one, bulk(d.Consumer.Name))
		}
		if values = append(values, array(append(one, integer(d.Time), integer(d.Count)))); int64(len(values)) == count {
			break
		}
	}
	return array(values)
}
