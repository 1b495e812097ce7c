package command

import (
	"math"
	"math/rand/v2"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// A source is a collection to take random elements of, each a name and perhaps a value.
type source struct {
	size int
	any  func() (name string, value reply.Value)
	at   func(i int) (name string, value reply.Value)
}

// A negative count asks for a reply of any size. Redis begins to send it and ends the connection above client-output-buffer-limit; here
// it is an error above maxSample, in which each element counts for its bytes and sampleOverhead.
const (
	maxSample      = 256 << 20
	sampleOverhead = 64
)

var errSampleTooLong = failure("ERR value is out of range, the reply would exceed 256 MiB")

// sample is HRANDFIELD, SRANDMEMBER and ZRANDMEMBER: one element, up to count different ones, or with a negative count that many with repeats.
// withValues is the word that asks for values too, if there is one.
func (c *Call) sample(kind store.Kind, withValues string, of func(*store.Entry) source) reply.Value {
	count, valid := int64(0), true
	if len(c.Args) > 2 {
		count, valid = parseInt(c.Args[2])
	}
	values := len(c.Args) == 4 && withValues != "" && is(c.Args[3], withValues)
	switch {
	case !valid:
		return errNotInt
	case len(c.Args) > 4 || len(c.Args) == 4 && !values:
		return errSyntax
	case count == math.MinInt64:
		return errUnnegatable
	case values && (count < -math.MaxInt64/2 || count > math.MaxInt64/2):
		return failure("ERR value is out of range")
	}
	e, fits := c.find(c.Args[1], kind)
	switch {
	case !fits:
		return errWrongType
	case e == nil && len(c.Args) == 2:
		return null
	case e == nil:
		return none
	}
	s := of(e)
	if len(c.Args) == 2 {
		name, _ := s.any()
		return bulk(name)
	}
	var found []reply.Value
	add := func(name string, value reply.Value) {
		found = append(found, bulk(name))
		if values {
			found = append(found, value)
		}
	}
	switch {
	case count < 0:
		if count < -maxSample/sampleOverhead {
			return errSampleTooLong
		}
		size := -count * sampleOverhead
		for range -count {
			name, value := s.any()
			if size += int64(len(name) + len(value.Str)); size > maxSample {
				return errSampleTooLong
			}
			add(name, value)
		}
	case count >= int64(s.size):
		for i := range s.size {
			add(s.at(i))
		}
	default:
		for _, i := range rand.Perm(s.size)[:count] {
			add(s.at(i))
		}
	}
	return elements(found, values)
}
