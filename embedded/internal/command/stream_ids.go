package command

import (
	"math"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var (
	errStreamID      = failure("ERR Invalid stream ID specified as stream command argument")
	errIntervalStart = failure("ERR invalid start ID for the interval")
	errIntervalEnd   = failure("ERR invalid end ID for the interval")
)

// parseUnsigned reads what C's strtoull reads, without a minus sign.
func parseUnsigned(s string) (uint64, bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimLeft(s, " \t\n\v\f\r"), "+"), 10, 64)
	return n, err == nil
}

// parseStreamID reads ms-seq, or ms, where missing is the number that stands for the omitted one.
func parseStreamID(s string, missing uint64) (id store.StreamID, valid bool) {
	ms, seq, found := strings.Cut(s, "-")
	if id.MS, valid = parseUnsigned(ms); !valid {
		return id, false
	}
	if id.Seq = missing; found {
		id.Seq, valid = parseUnsigned(seq)
	}
	return id, valid
}

// parseStreamIDs reads IDs that name one entry each.
func parseStreamIDs(words []string) (ids []store.StreamID, valid bool) {
	ids = make([]store.StreamID, len(words))
	for i, w := range words {
		if ids[i], valid = parseStreamID(w, 0); !valid {
			return nil, false
		}
	}
	return ids, true
}

// streamInterval reads the two ends of a range, each of which may be -, +, or exclusive with a parenthesis.
func streamInterval(from, to string) (first, last store.StreamID, problem reply.Value) {
	first, exclusive, valid := intervalEnd(from, 0)
	if !valid {
		return first, last, errStreamID
	}
	if exclusive {
		if first, valid = first.Next(); !valid {
			return first, last, errIntervalStart
		}
	}
	last, exclusive, valid = intervalEnd(to, math.MaxUint64)
	if !valid {
		return first, last, errStreamID
	}
	if exclusive {
		if last, valid = last.Prev(); !valid {
			return first, last, errIntervalEnd
		}
	}
	return first, last, okay
}

func intervalEnd(s string, missing uint64) (id store.StreamID, exclusive, valid bool) {
	switch {
	case s == "-":
		return id, false, true
	case s == "+":
		return store.LastStreamID, false, true
	case len(s) > 1 && s[0] == '(':
		id, valid = parseStreamID(s[1:], missing)
		return id, true, valid
	}
	id, valid = parseStreamID(s, missing)
	return id, false, valid
}

func streamID(id store.StreamID) reply.Value { return bulk(id.String()) }

// entry is one entry of a stream as XRANGE shows it.
func entry(id store.StreamID, fields []string) reply.Value {
	return array([]reply.Value{streamID(id), texts(fields)})
}

func texts(all []string) reply.Value {
	values := make([]reply.Value, len(all))
	for i, s := range all {
		values[i] = bulk(s)
	}
	return array(values)
}
