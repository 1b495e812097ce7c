package command

import (
	"math"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// lposOptions are the words of LPOS: which match to begin with, how many to give, how many elements to look at.
type lposOptions struct {
	rank, count, length int64
	many                bool
}

func parseLpos(words []string) (o lposOptions, problem reply.Value) {
	o = lposOptions{rank: 1, count: 1}
	for i := 0; i < len(words); i += 2 {
		if i+1 == len(words) {
			return o, errSyntax
		}
		n, valid := parseInt(words[i+1])
		switch {
		case is(words[i], "rank"):
			if !valid {
				return o, errNotInt
			}
			if n == math.MinInt64 {
				return o, errUnnegatable
			}
			if n == 0 {
				return o, failure("ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list")
			}
			o.rank = n
		case is(words[i], "count"):
			if !valid || n < 0 {
				return o, failure("ERR COUNT can't be negative")
			}
			o.count, o.many = n, true
		case is(words[i], "maxlen"):
			if !valid || n < 0 {
				return o, failure("ERR MAXLEN can't be negative")
			}
			o.length = n
		default:
			return o, errSyntax
		}
	}
	return o, okay
}

func lpos(c *Call) reply.Value {
	o, problem := parseLpos(c.Args[3:])
	if problem.Kind == reply.Error {
		return problem
	}
	e, fits := c.find(c.Args[1], store.List)
	if !fits {
		return errWrongType
	}
	found := []reply.Value{}
	if e != nil {
		found = o.search(e.List, c.Args[2])
	}
	switch {
	case o.many:
		return array(found)
	case len(found) == 0:
		return null
	}
	return found[0]
}

func (o lposOptions) search(q *store.Deque, value string) []reply.Value {
	found := []reply.Value{}
	skip := o.rank - 1
	if o.rank < 0 {
		skip = -o.rank - 1
	}
	looks := q.Len()
	if o.length > 0 {
		looks = int(min(o.length, int64(looks)))
	}
	for k := range looks {
		i := k
		if o.rank < 0 {
			i = q.Len() - 1 - k
		}
		switch {
		case q.At(i) != value:
		case skip > 0:
			skip--
		default:
			found = append(found, number(i))
			if o.count > 0 && int64(len(found)) == o.count {
				return found
			}
		}
	}
	return found
}
