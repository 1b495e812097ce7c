package store

// Limits are the settings above which Redis gives a collection up its compact encoding, which it never gets back. They have no effect here but
// on what OBJECT ENCODING reports, on the order of sets and on the nodes of streams.
type Limits struct {
	HashEntries, HashValue int64
	SetInts                int64
	ZSetEntries, ZSetValue int64
	StreamEntries          int64 // of a node, on which trimming with ~ depends
}

// DefaultLimits are those of Redis.
var DefaultLimits = Limits{HashEntries: 512, HashValue: 64, SetInts: 512, ZSetEntries: 128, ZSetValue: 64, StreamEntries: chunkSize}

// maxStreamNode bounds a node: removing one of its entries moves the others.
const maxStreamNode = 10_000

// StreamNode is how many entries a node of a stream holds.
func (l *Limits) StreamNode() int {
	switch {
	case l == nil:
		return chunkSize
	case l.StreamEntries == 0:
		return maxStreamNode
	}
	return int(min(l.StreamEntries, maxStreamNode))
}

// outgrow gives up the compact encoding of a collection that has just been written to, if it is above the limits.
func (e *Entry) outgrow(limits *Limits) {
	if limits == nil {
		limits = &DefaultLimits
	}
	switch e.Kind {
	case Hash:
		e.Hash.large = e.Hash.large || e.Hash.longest > limits.HashValue || int64(e.Hash.Len()) > limits.HashEntries
		e.Hash.longest = 0
	case Set:
		e.Set.large = e.Set.large || int64(e.Set.Len()) > limits.SetInts
	case ZSet:
		e.ZSet.large = e.ZSet.large || e.ZSet.longest > limits.ZSetValue || int64(e.ZSet.Len()) > limits.ZSetEntries
		e.ZSet.longest = 0
	}
}

// Encoding is what OBJECT ENCODING of Redis 7.0 reports.
func (e *Entry) Encoding() string {
	compact := func(large bool, otherwise string) string {
		if large {
			return otherwise
		}
		return "listpack"
	}
	switch e.Kind {
	case List:
		return "quicklist"
	case Hash:
		return compact(e.Hash.large, "hashtable")
	case ZSet:
		return compact(e.ZSet.large, "skiplist")
	case StreamKind:
		return "stream"
	case Set:
		if e.Set.Ints() {
			return "intset"
		}
		return "hashtable"
	}
	switch _, whole := integer(e.Str); {
	case e.Raw:
		return "raw"
	case whole:
		return "int"
	case len(e.Str) <= maxEmbedded:
		return "embstr"
	}
	return "raw"
}

// maxEmbedded is the longest string that Redis keeps beside its object.
const maxEmbedded = 44
