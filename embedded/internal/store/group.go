package store

import (
	"maps"
	"slices"
)

// Unknown is the number of entries that a group has read when it cannot be known.
const Unknown = -1

// A Group is a consumer group of a stream.
type Group struct {
	Name    string
	Last    StreamID // the last that was delivered
	Read    int64    // entries read, or Unknown
	Pending ByID[*Delivery]

	consumers map[string]*Consumer
}

// A Consumer is one reader of a group.
type Consumer struct {
	Name    string
	Seen    int64 // when it was last named, in milliseconds
	Pending ByID[*Delivery]
}

// A Delivery is an entry that a consumer got and has not acknowledged.
type Delivery struct {
	Consumer *Consumer
	Time     int64
	Count    int64
}

// NewGroup adds a group; it returns nil if there is one of this name.
func (s *Stream) NewGroup(name string, last StreamID, read int64) *Group {
	if s.groups[name] != nil {
		return nil
	}
	if s.groups == nil {
		s.groups = make(map[string]*Group)
	}
	g := &Group{Name: name, Last: last, Read: read, consumers: make(map[string]*Consumer)}
	s.groups[name] = g
	return g
}

// Group returns the group of this name, or nil.
func (s *Stream) Group(name string) *Group { return s.groups[name] }

// DeleteGroup removes a group.
func (s *Stream) DeleteGroup(name string) { delete(s.groups, name) }

// Groups returns all groups by name.
func (s *Stream) Groups() []*Group {
	all := make([]*Group, 0, len(s.groups))
	for _, name := range slices.Sorted(maps.Keys(s.groups)) {
		all = append(all, s.groups[name])
	}
	return all
}

// Lag returns how many entries the group has not read, or Unknown.
func (s *Stream) Lag(g *Group) int64 {
	switch {
	case s.Added == 0:
		return 0
	case g.Read != Unknown && !s.tombstones(next(g.Last)):
		return int64(s.Added) - g.Read
	}
	if read := s.Distance(g.Last); read != Unknown {
		return int64(s.Added) - read
	}
	return Unknown
}

func next(id StreamID) StreamID {
	id, _ = id.Next()
	return id
}

// Advance makes id the last that was delivered.
func (s *Stream) Advance(g *Group, id StreamID) {
	if id.Compare(g.Last) <= 0 {
		return
	}
	if g.Read != Unknown && !s.tombstones(id) {
		g.Read++
	} else if s.Added > 0 {
		g.Read = s.Distance(id)
	}
	g.Last = id
}

// Consumer returns the consumer of this name, which it makes if it is missing, and which has been seen now.
func (g *Group) Consumer(name string, now int64) *Consumer {
	c := g.consumers[name]
	if c == nil {
		c = &Consumer{Name: name}
		g.consumers[name] = c
	}
	c.Seen = now
	return c
}

// Known returns the consumer of this name, or nil.
func (g *Group) Known(name string) *Consumer { return g.consumers[name] }

// Consumers returns all consumers by name.
func (g *Group) Consumers() []*Consumer {
	all := make([]*Consumer, 0, len(g.consumers))
	for _, name := range slices.Sorted(maps.Keys(g.consumers)) {
		all = append(all, g.consumers[name])
	}
	return all
}

// DeleteConsumer removes a consumer with what it has not acknowledged.
func (g *Group) DeleteConsumer(c *Consumer) {
	for id := range c.Pending.Ascend(StreamID{}) {
		g.Pending.Delete(id)
	}
	delete(g.consumers, c.Name)
}

// Deliver records that c got an entry, also if another consumer had it.
func (g *Group) Deliver(id StreamID, c *Consumer, when, count int64) {
	d, there := g.Pending.Get(id)
	switch {
	case !there:
		d = &Delivery{}
		g.Pending.Put(id, d)
	case d.Consumer != c:
		d.Consumer.Pending.Delete(id)
	}
	if d.Consumer != c {
		d.Consumer = c
		c.Pending.Put(id, d)
	}
	d.Time, d.Count = when, count
}

// Ack removes a delivery and reports whether it was there.
func (g *Group) Ack(id StreamID) bool {
	d, there := g.Pending.Get(id)
	if there {
		g.Pending.Delete(id)
		d.Consumer.Pending.Delete(id)
	}
	return there
}
