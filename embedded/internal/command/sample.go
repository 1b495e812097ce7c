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
	any  func() (name, value string)
	at   func(i int) (name, value string)
}

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
	case count < -math.MaxInt64/2 || values && count > math.MaxInt64/2:
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
	add := func(name, value string) {
		found = append(found, bulk(name))
		if values {
			found = append(found, bulk(value))
		}
	}
	switch {
	case count < 0:
		for range -count {
			add(s.any())
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
	return array(found)
}
