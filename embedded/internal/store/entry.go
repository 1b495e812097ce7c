package store

import "math"

// Kind is the type of a key's value.
type Kind uint8

// The kinds of values. None is what a missing key has.
const (
	None Kind = iota
	String
	List
	Hash
	Set
	ZSet
	StreamKind
)

// String gives the kind as TYPE reports it.
func (k Kind) String() string {
	return [...]string{"none", "string", "list", "hash", "set", "zset", "stream"}[k]
}

// Never is the expiry of a key without one.
const Never = int64(math.MaxInt64)

// An Entry is one key's value and expiry. Of its values only the one of its Kind is set.
type Entry struct {
	Kind   Kind
	Str    string
	List   *Deque
	Hash   *Fields
	Set    *Members
	ZSet   *Sorted
	Stream *Stream
	Expire int64 // milliseconds since the Unix epoch, or Never

	size int64 // bytes that the key was last counted with

	older, newer *cell[Entry] // neighbours in the order of use
}

// Costs of a key, a collection and an element on this process's heap beside their bytes, where maps and slices have just grown.
const (
	keyOverhead     = 208
	stringOverhead  = 16  // at most: sizes are rounded up
	listOverhead    = 48  // without its ring
	tableOverhead   = 320 // of a hash or a set
	elementOverhead = 128
	sortedOverhead  = 880
	nodeOverhead    = 112 // of a sorted set's element, beside elementOverhead

	streamOverhead      = 256
	streamEntryOverhead = 80
)

// Len is how many elements the value has, or bytes if it is a text.
func (e *Entry) Len() int {
	switch e.Kind {
	case List:
		return e.List.Len()
	case Hash:
		return e.Hash.Len()
	case Set:
		return e.Set.Len()
	case ZSet:
		return e.ZSet.Len()
	case StreamKind:
		return e.Stream.Len()
	}
	return len(e.Str)
}

func (e *Entry) bytes(key string) int64 {
	n := int64(len(key)) + keyOverhead
	switch e.Kind {
	case String:
		n += int64(len(e.Str)) + stringOverhead
	case List:
		n += e.List.bytes + listOverhead + int64(len(e.List.ring)+e.List.Len())*stringOverhead
	case Hash:
		n += e.Hash.bytes + tableOverhead + int64(e.Hash.Len())*(elementOverhead+2*stringOverhead)
	case Set:
		n += e.Set.bytes + tableOverhead + int64(e.Set.Len())*(elementOverhead+stringOverhead)
	case ZSet:
		n += e.ZSet.bytes + sortedOverhead + int64(e.ZSet.Len())*(elementOverhead+nodeOverhead+stringOverhead)
	case StreamKind:
		n += e.Stream.used()
	}
	return n
}

// Empty reports whether a collection has no elements left, so that its key has to go. A stream without entries stays.
func (e *Entry) Empty() bool { return e.Kind != String && e.Kind != StreamKind && e.Len() == 0 }

func newEntry(kind Kind) Entry {
	e := Entry{Kind: kind, Expire: Never}
	switch kind {
	case List:
		e.List = &Deque{}
	case Hash:
		e.Hash = &Fields{}
	case Set:
		e.Set = &Members{}
	case ZSet:
		e.ZSet = NewSorted()
	case StreamKind:
		e.Stream = &Stream{}
	}
	return e
}
