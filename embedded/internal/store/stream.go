package store

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strconv"
)

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

// A StreamID is the identity of a stream's entry: milliseconds, and a number among the entries of one millisecond.
type StreamID struct{ MS, Seq uint64 }

// LastStreamID is the greatest ID that there can be.
var LastStreamID = StreamID{math.MaxUint64, math.MaxUint64}

// Compare orders two IDs as cmp.Compare does.
func (id StreamID) Compare(other StreamID) int {
	return cmp.Or(cmp.Compare(id.MS, other.MS), cmp.Compare(id.Seq, other.Seq))
}

func (id StreamID) String() string {
	return strconv.FormatUint(id.MS, 10) + "-" + strconv.FormatUint(id.Seq, 10)
}

// Next returns the ID after this one, or false if it is the last.
func (id StreamID) Next() (StreamID, bool) {
	switch {
	case id.Seq != math.MaxUint64:
		return StreamID{id.MS, id.Seq + 1}, true
	case id.MS != math.MaxUint64:
		return StreamID{id.MS + 1, 0}, true
	}
	return StreamID{}, false
}

// Prev returns the ID before this one, or false if it is the first.
func (id StreamID) Prev() (StreamID, bool) {
	switch {
	case id.Seq != 0:
		return StreamID{id.MS, id.Seq - 1}, true
	case id.MS != 0:
		return StreamID{id.MS - 1, math.MaxUint64}, true
	}
	return StreamID{}, false
}

// chunkSize is how many IDs a chunk of a copy holds.
const chunkSize = 100

// ByID is a map from IDs, in their order. It is a list of small sorted chunks: entries arrive at its end and leave anywhere.
type ByID[V any] struct {
	chunks []*chunk[V]
	n      int
}

type chunk[V any] struct {
	ids  []StreamID
	vals []V
}

func (c *chunk[V]) last() StreamID { return c.ids[len(c.ids)-1] }

// Len is the number of IDs.
func (m *ByID[V]) Len() int { return m.n }

// find returns the chunk and the place in it where id is, or would be.
func (m *ByID[V]) find(id StreamID) (at, i int, found bool) {
	at, _ = slices.BinarySearchFunc(m.chunks, id, func(c *chunk[V], id StreamID) int { return c.last().Compare(id) })
	if at == len(m.chunks) {
		return at, 0, false
	}
	i, found = slices.BinarySearchFunc(m.chunks[at].ids, id, StreamID.Compare)
	return at, i, found
}

// Get returns the value of id.
func (m *ByID[V]) Get(id StreamID) (v V, ok bool) {
	at, i, found := m.find(id)
	if !found {
		return v, false
	}
	return m.chunks[at].vals[i], true
}

// Append stores the value of an id that is higher than all others, in a chunk that holds up to size.
func (m *ByID[V]) Append(id StreamID, v V, size int) {
	m.n++
	at := len(m.chunks)
	if at == 0 || len(m.chunks[at-1].ids) >= size {
		m.chunks = append(m.chunks, &chunk[V]{})
		at++
	}
	c := m.chunks[at-1]
	c.ids, c.vals = append(c.ids, id), append(c.vals, v)
}

// Delete removes id and reports whether it was there.
func (m *ByID[V]) Delete(id StreamID) bool {
	at, i, found := m.find(id)
	if !found {
		return false
	}
	m.n--
	c := m.chunks[at]
	c.ids, c.vals = slices.Delete(c.ids, i, i+1), slices.Delete(c.vals, i, i+1)
	if len(c.ids) == 0 {
		m.chunks = slices.Delete(m.chunks, at, at+1)
	}
	return true
}

// First returns the lowest ID.
func (m *ByID[V]) First() (id StreamID, ok bool) {
	if m.n == 0 {
		return id, false
	}
	return m.chunks[0].ids[0], true
}

// Ascend visits the IDs from one on. The map must not change meanwhile.
func (m *ByID[V]) Ascend(from StreamID) iter.Seq2[StreamID, V] {
	return func(yield func(StreamID, V) bool) {
		at, i, _ := m.find(from)
		for ; at < len(m.chunks); at, i = at+1, 0 {
			for c := m.chunks[at]; i < len(c.ids); i++ {
				if !yield(c.ids[i], c.vals[i]) {
					return
				}
			}
		}
	}
}

// Descend visits the IDs from one down. The map must not change meanwhile.
func (m *ByID[V]) Descend(from StreamID) iter.Seq2[StreamID, V] {
	return func(yield func(StreamID, V) bool) {
		at, i, found := m.find(from)
		if !found {
			i--
		}
		for {
			if at < len(m.chunks) {
				for c := m.chunks[at]; i >= 0; i-- {
					if !yield(c.ids[i], c.vals[i]) {
						return
					}
				}
			}
			if at--; at < 0 {
				return
			}
			i = len(m.chunks[at].ids) - 1
		}
	}
}
