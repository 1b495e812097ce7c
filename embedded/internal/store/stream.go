package store

import "slices"

// A Stream is a stream's content. A stream without entries stays.
type Stream struct {
	Entries    ByID[[]string] // fields and values in turn
	Last       StreamID       // of the newest entry that there ever was
	MaxDeleted StreamID       // the highest that XDEL has removed
	Added      uint64         // entries that there ever were

	groups map[string]*Group
	bytes  int64
}

// First returns the lowest ID, or the zero ID of an empty stream.
func (s *Stream) First() StreamID {
	id, _ := s.Entries.First()
	return id
}

// Add appends an entry, whose id is higher than Last. node is how many a chunk holds.
func (s *Stream) Add(id StreamID, fields []string, node int) {
	s.Entries.Append(id, slices.Clone(fields), node)
	s.Last = id
	s.Added++
	s.bytes += fieldBytes(fields)
}

// fieldBytes is what an entry takes.
func fieldBytes(fields []string) int64 {
	n := int64(streamEntryOverhead)
	for _, f := range fields {
		n += int64(len(f)) + 2*stringOverhead
	}
	return n
}

// Delete removes an entry as XDEL does, and reports whether it was there.
func (s *Stream) Delete(id StreamID) bool {
	if !s.remove(id) {
		return false
	}
	if id.Compare(s.MaxDeleted) > 0 {
		s.MaxDeleted = id
	}
	return true
}

func (s *Stream) remove(id StreamID) bool {
	fields, ok := s.Entries.Get(id)
	if ok {
		s.Entries.Delete(id)
		s.bytes -= fieldBytes(fields)
	}
	return ok
}

// A Trim says which of the oldest entries to remove.
type Trim struct {
	MaxLen int64    // how many to keep; negative: MinID counts
	MinID  StreamID // the lowest ID to keep
	Whole  bool     // only whole chunks, as with ~
	Limit  int64    // how many to remove at most; 0: all
}

// Trim removes entries and returns how many.
func (s *Stream) Trim(t Trim) int {
	removed := 0
	for len(s.Entries.chunks) > 0 {
		c := s.Entries.chunks[0]
		whole := c.last().Compare(t.MinID) < 0
		if t.MaxLen >= 0 {
			whole = int64(s.Entries.Len()-len(c.ids)) >= t.MaxLen
		}
		switch {
		case t.Limit > 0 && int64(removed+len(c.ids)) > t.Limit:
			return removed
		case whole:
			removed += len(c.ids)
			for _, fields := range c.vals {
				s.bytes -= fieldBytes(fields)
			}
			s.Entries.n -= len(c.ids)
			s.Entries.chunks[0] = nil
			s.Entries.chunks = s.Entries.chunks[1:]
			continue
		case t.Whole:
			return removed
		}
		for {
			id := s.First()
			if t.MaxLen >= 0 && int64(s.Entries.Len()) <= t.MaxLen || t.MaxLen < 0 && id.Compare(t.MinID) >= 0 {
				return removed
			}
			s.remove(id)
			removed++
		}
	}
	return removed
}

// tombstones reports whether XDEL has removed an entry from this ID on, as far as Redis can know.
func (s *Stream) tombstones(from StreamID) bool {
	return s.Entries.Len() > 0 && s.MaxDeleted != StreamID{} && s.First().Compare(s.MaxDeleted) <= 0 && from.Compare(s.MaxDeleted) <= 0
}

// Distance returns how many entries there ever were up to id, or Unknown.
func (s *Stream) Distance(id StreamID) int64 {
	order := id.Compare(s.Last)
	switch {
	case s.Added == 0:
		return 0
	case s.Entries.Len() == 0 && order <= 0, order == 0:
		return int64(s.Added)
	case order > 0:
		return Unknown
	}
	if first := s.First(); (s.MaxDeleted == StreamID{}) || s.MaxDeleted.Compare(first) < 0 {
		switch gone := int64(s.Added) - int64(s.Entries.Len()); id.Compare(first) {
		case -1:
			return gone
		case 0:
			return gone + 1
		}
	}
	return Unknown
}

func (s *Stream) used() int64 {
	n := s.bytes + streamOverhead
	for name, g := range s.groups {
		n += int64(len(name)) + tableOverhead + int64(g.Pending.Len())*pendingOverhead + int64(len(g.consumers))*tableOverhead
	}
	return n
}

func (s *Stream) clone() *Stream {
	c := *s
	c.Entries = ByID[[]string]{}
	for id, fields := range s.Entries.Ascend(StreamID{}) {
		c.Entries.Put(id, fields) // never changed in place
	}
	c.groups = nil
	for _, g := range s.Groups() {
		copied := c.NewGroup(g.Name, g.Last, g.Read)
		for _, old := range g.Consumers() {
			copied.Consumer(old.Name, old.Seen)
		}
		for id, p := range g.Pending.Ascend(StreamID{}) {
			copied.Deliver(id, copied.Consumer(p.Consumer.Name, p.Consumer.Seen), p.Time, p.Count)
		}
	}
	return &c
}
