package command

import (
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// scanOptions are the words of the SCAN family.
type scanOptions struct {
	cursor uint64
	count  int
	match  string
	kind   string
	all    bool // no pattern
}

func (o scanOptions) wants(name string) bool { return o.all || matches(o.match, name) }

var errCursor = failure("ERR invalid cursor")

func parseScan(cursor string, words []string, forKeys bool) (o scanOptions, problem reply.Value) {
	o = scanOptions{count: 10, all: true}
	digits, negative := strings.CutPrefix(cursor, "-")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || negative && n != 0 {
		return o, errCursor
	}
	o.cursor = n
	for i := 0; i < len(words); i += 2 {
		if i+1 == len(words) {
			return o, errSyntax
		}
		switch value := words[i+1]; {
		case is(words[i], "count"):
			n, valid := parseInt(value)
			switch {
			case !valid:
				return o, errNotInt
			case n < 1:
				return o, errSyntax
			}
			o.count = int(min(n, 1<<30))
		case is(words[i], "match"):
			o.match, o.all = value, value == "*"
		case is(words[i], "type") && forKeys:
			o.kind = lower(value)
		default:
			return o, errSyntax
		}
	}
	return o, okay
}

func page(cursor uint64, found []reply.Value) reply.Value {
	return array([]reply.Value{bulk(strconv.FormatUint(cursor, 10)), array(found)})
}

func scan(c *Call) reply.Value {
	o, problem := parseScan(c.Args[1], c.Args[2:], true)
	if problem.Kind == reply.Error {
		return problem
	}
	var found []reply.Value
	next := c.DB.Scan(o.cursor, o.count, c.Now, func(key string, e *store.Entry) {
		if (o.kind == "" || o.kind == e.Kind.String()) && o.wants(key) {
			found = append(found, bulk(key))
		}
	})
	return page(next, found)
}

// scanElements is HSCAN, SSCAN and ZSCAN: walk visits the elements, each of which may be a name and a value.
func (c *Call) scanElements(kind store.Kind, walk func(e *store.Entry, o scanOptions, add func(name string, more ...string)) uint64) reply.Value {
	e, fits := c.find(c.Args[1], kind)
	o, problem := parseScan(c.Args[2], c.Args[3:], false)
	switch {
	case problem.Str == errCursor.Str:
		return problem
	case !fits:
		return errWrongType
	case e == nil: // the words are not read then
		return page(0, nil)
	case problem.Kind == reply.Error:
		return problem
	}
	var found []reply.Value
	next := walk(e, o, func(name string, more ...string) {
		if o.wants(name) {
			found = append(found, bulk(name))
			for _, m := range more {
				found = append(found, bulk(m))
			}
		}
	})
	return page(next, found)
}
