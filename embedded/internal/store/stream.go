package store

import "slices"

// A Stream is a stream's content. A stream without entries stays.
type Stream struct {
	Entries ByID[[]string] // fields and values in turn
	Last    StreamID       // of the newest entry that there ever was

	bytes int64
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

// Delete removes an entry and reports whether it was there.
func (s *Stream) Delete(id StreamID) bool {
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
			s.Delete(id)
			removed++
		}
	}
	return removed
}

func (s *Stream) used() int64 { return s.bytes + streamOverhead }

func (s *Stream) clone() *Stream {
	c := *s
	c.Entries = ByID[[]string]{}
	for id, fields := range s.Entries.Ascend(StreamID{}) {
		c.Entries.Append(id, fields, chunkSize) // never changed in place
	}
	return &c
}
