package store

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strconv"
)

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

// A Stream is a stream's content: a list of small sorted nodes, as entries arrive at its end and leave anywhere. A stream without
// entries stays.
type Stream struct {
	Last StreamID // of the newest entry that there ever was

	nodes []*streamNode
	n     int
	bytes int64
}

type streamNode struct {
	ids    []StreamID
	fields [][]string // of each entry, names and values in turn
}

func (n *streamNode) last() StreamID { return n.ids[len(n.ids)-1] }

// Len is the number of entries.
func (s *Stream) Len() int { return s.n }

// find returns the node and the place in it where id is, or would be.
func (s *Stream) find(id StreamID) (at, i int, found bool) {
	at, _ = slices.BinarySearchFunc(s.nodes, id, func(n *streamNode, id StreamID) int { return n.last().Compare(id) })
	if at == len(s.nodes) {
		return at, 0, false
	}
	i, found = slices.BinarySearchFunc(s.nodes[at].ids, id, StreamID.Compare)
	return at, i, found
}

// Add appends an entry, whose id is higher than Last. A node holds up to most.
func (s *Stream) Add(id StreamID, fields []string, most int) {
	if at := len(s.nodes); at == 0 || len(s.nodes[at-1].ids) >= most {
		s.nodes = append(s.nodes, &streamNode{})
	}
	n := s.nodes[len(s.nodes)-1]
	n.ids, n.fields = append(n.ids, id), append(n.fields, slices.Clone(fields))
	s.n++
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
	at, i, found := s.find(id)
	if !found {
		return false
	}
	n := s.nodes[at]
	s.n--
	s.bytes -= fieldBytes(n.fields[i])
	n.ids, n.fields = slices.Delete(n.ids, i, i+1), slices.Delete(n.fields, i, i+1)
	if len(n.ids) == 0 {
		s.nodes = slices.Delete(s.nodes, at, at+1)
	}
	return true
}

// A Trim says which of the oldest entries to remove.
type Trim struct {
	MaxLen int64    // how many to keep; negative: MinID counts
	MinID  StreamID // the lowest ID to keep
	Whole  bool     // only whole nodes, as with ~
	Limit  int64    // how many to remove at most; 0: all
}

// Trim removes entries and returns how many.
func (s *Stream) Trim(t Trim) int {
	removed := 0
	for len(s.nodes) > 0 {
		n := s.nodes[0]
		whole := n.last().Compare(t.MinID) < 0
		if t.MaxLen >= 0 {
			whole = int64(s.n-len(n.ids)) >= t.MaxLen
		}
		switch {
		case t.Limit > 0 && int64(removed+len(n.ids)) > t.Limit:
			return removed
		case whole:
			removed += len(n.ids)
			for _, fields := range n.fields {
				s.bytes -= fieldBytes(fields)
			}
			s.n -= len(n.ids)
			s.nodes[0] = nil
			s.nodes = s.nodes[1:]
			continue
		case t.Whole:
			return removed
		}
		for {
			first := s.nodes[0].ids[0]
			if t.MaxLen >= 0 && int64(s.n) <= t.MaxLen || t.MaxLen < 0 && first.Compare(t.MinID) >= 0 {
				return removed
			}
			s.Delete(first)
			removed++
		}
	}
	return removed
}

// Ascend visits the entries from one ID on. The stream must not change meanwhile.
func (s *Stream) Ascend(from StreamID) iter.Seq2[StreamID, []string] {
	return func(yield func(StreamID, []string) bool) {
		at, i, _ := s.find(from)
		for ; at < len(s.nodes); at, i = at+1, 0 {
			for n := s.nodes[at]; i < len(n.ids); i++ {
				if !yield(n.ids[i], n.fields[i]) {
					return
				}
			}
		}
	}
}

// Descend visits the entries from one ID down. The stream must not change meanwhile.
func (s *Stream) Descend(from StreamID) iter.Seq2[StreamID, []string] {
	return func(yield func(StreamID, []string) bool) {
		at, i, found := s.find(from)
		if !found {
			i--
		}
		for {
			if at < len(s.nodes) {
				for n := s.nodes[at]; i >= 0; i-- {
					if !yield(n.ids[i], n.fields[i]) {
						return
					}
				}
			}
			if at--; at < 0 {
				return
			}
			i = len(s.nodes[at].ids) - 1
		}
	}
}

func (s *Stream) used() int64 { return s.bytes + streamOverhead }
