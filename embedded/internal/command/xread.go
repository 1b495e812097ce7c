package command

import (
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// readOptions are the words of XREAD.
type readOptions struct {
	count     int64 // 0: all
	keys, ids []string
}

// streamKeys finds the keys of XREAD: the first half of what follows STREAMS.
func streamKeys(args []string) []string {
	for i := 1; i < len(args); i++ {
		switch {
		case is(args[i], "block"), is(args[i], "count"):
			i++
		case is(args[i], "streams"):
			rest := args[i+1:]
			return rest[:len(rest)/2]
		}
	}
	return nil
}

func (c *Call) parseRead() (o readOptions, problem reply.Value) {
	for words := c.Args[1:]; o.keys == nil; words = words[1:] {
		if len(words) == 0 {
			return o, errSyntax
		}
		var valid bool
		switch w, more := words[0], len(words)-1; {
		case is(w, "block") && more > 0:
			if c.Scripted {
				return o, failure("ERR " + c.Args[0] + " command is not allowed with BLOCK option from scripts")
			}
			return o, failure("ERR syntax error" + absent([]string{c.Args[0], w}))
		case is(w, "count") && more > 0:
			if o.count, valid = parseInt(words[1]); !valid {
				return o, errNotInt
			}
			o.count = max(o.count, 0)
			words = words[1:]
		case is(w, "streams") && more > 0:
			if more%2 != 0 {
				return o, failure("ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.")
			}
			o.keys, o.ids = words[1:1+more/2], words[1+more/2:]
		case is(w, "group") && more > 1, is(w, "noack"):
			return o, failure("ERR The " + upper(w) + " option is only supported by XREADGROUP. You called XREAD instead.")
		default:
			return o, errSyntax
		}
	}
	return o, okay
}

// resolve reads the IDs after which to begin.
func (o *readOptions) resolve(c *Call) (ids []store.StreamID, problem reply.Value) {
	ids = make([]store.StreamID, len(o.ids))
	for i, s := range o.ids {
		e, fits := c.find(o.keys[i], store.StreamKind)
		switch {
		case !fits:
			return nil, errWrongType
		case s == "$":
			if e != nil {
				ids[i] = e.Stream.Last
			}
			continue
		case s == ">":
			return nil, failure("ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.")
		}
		var valid bool
		if ids[i], valid = parseStreamID(s, 0); !valid {
			return nil, errStreamID
		}
	}
	return ids, okay
}

func xread(c *Call) reply.Value {
	o, problem := c.parseRead()
	if problem.Kind == reply.Error {
		return problem
	}
	ids, problem := o.resolve(c)
	if problem.Kind == reply.Error {
		return problem
	}
	var values []reply.Value // of all streams that have some
	for i, key := range o.keys {
		e, _ := c.find(key, store.StreamKind) // resolve has looked: it is a stream
		if e == nil {
			continue
		}
		if found := entriesAfter(e.Stream, ids[i], o.count); len(found) > 0 {
			values = append(values, bulk(key), array(found))
		}
	}
	if values == nil {
		return nilArray
	}
	return reply.Of(reply.NestedMap, values...)
}

func entriesAfter(s *store.Stream, after store.StreamID, count int64) (found []reply.Value) {
	from, ok := after.Next()
	if !ok {
		return nil
	}
	for id, fields := range s.Entries.Ascend(from) {
		found = append(found, entry(id, fields))
		if int64(len(found)) == count {
			break
		}
	}
	return found
}
