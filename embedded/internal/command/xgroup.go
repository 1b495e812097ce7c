package command

import (
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// groupOptions are the words behind XGROUP CREATE and XGROUP SETID.
type groupOptions struct {
	create bool // MKSTREAM
	read   int64
}

func (c *Call) parseGroup(creates bool) (o groupOptions, problem reply.Value) {
	o.read = store.Unknown
	for words := c.Args[5:]; len(words) > 0; words = words[1:] {
		switch {
		case creates && is(words[0], "mkstream"):
			o.create = true
		case is(words[0], "entriesread") && len(words) > 1:
			n, valid := parseInt(words[1])
			switch {
			case !valid:
				return o, errNotInt
			case n < 0 && n != store.Unknown:
				return o, failure("ERR value for ENTRIESREAD must be positive or -1")
			}
			o.read = n
			words = words[1:]
		default:
			return o, c.subcommandSyntax()
		}
	}
	return o, okay
}

// subcommandSyntax refuses words that a subcommand does not have.
func (c *Call) subcommandSyntax() reply.Value {
	return failure("ERR unknown subcommand or wrong number of arguments for '" + clip(c.Args[1]) + "'. Try " + upper(c.Args[0]) + " HELP.")
}

var errNoStream = failure("ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.")

// group looks up the group of an XGROUP subcommand.
func (c *Call) group() (e *store.Entry, g *store.Group, problem reply.Value) {
	e, fits := c.find(c.Args[2], store.StreamKind)
	switch {
	case !fits:
		return nil, nil, errWrongType
	case e == nil:
		return nil, nil, errNoStream
	}
	if g = e.Stream.Group(c.Args[3]); g == nil {
		return e, nil, noGroupFor(c.Args[3], c.Args[2])
	}
	return e, g, okay
}

func noGroupFor(group, key string) reply.Value {
	return failure("NOGROUP No such consumer group '" + cText(group) + "' for key name '" + cText(key) + "'")
}

func noKeyOrGroup(key, group string) reply.Value {
	return failure("NOGROUP No such key '" + cText(key) + "' or consumer group '" + cText(group) + "'")
}

func xgroupCreate(c *Call) reply.Value {
	o, problem := c.parseGroup(true)
	if problem.Kind == reply.Error {
		return problem
	}
	e, fits := c.find(c.Args[2], store.StreamKind)
	switch {
	case !fits:
		return errWrongType
	case e == nil && !o.create:
		return errNoStream
	}
	var last store.StreamID
	if c.Args[4] != "$" {
		var valid bool
		if last, valid = parseStreamID(c.Args[4], 0); !valid {
			return errStreamID
		}
	} else if e != nil {
		last = e.Stream.Last
	}
	if e == nil {
		e = c.DB.Create(c.Args[2], store.StreamKind)
	}
	if e.Stream.NewGroup(c.Args[3], last, o.read) == nil {
		return failure("BUSYGROUP Consumer Group name already exists")
	}
	c.DB.Changed(c.Args[2], e)
	return okay
}

func xgroupSetID(c *Call) reply.Value {
	o, problem := c.parseGroup(false)
	if problem.Kind == reply.Error {
		return problem
	}
	e, g, problem := c.group()
	if problem.Kind == reply.Error {
		return problem
	}
	last := e.Stream.Last
	if c.Args[4] != "$" {
		var valid bool
		if last, _, valid = intervalEnd(c.Args[4], 0); !valid || c.Args[4][0] == '(' {
			return errStreamID
		}
	}
	g.Last, g.Read = last, o.read
	c.DB.Changed(c.Args[2], e)
	return okay
}

func xgroupDestroy(c *Call) reply.Value {
	e, g, problem := c.group()
	switch {
	case e == nil:
		return problem
	case g == nil:
		return zero
	}
	e.Stream.DeleteGroup(g.Name)
	c.DB.Changed(c.Args[2], e)
	return one
}

func xgroupCreateConsumer(c *Call) reply.Value {
	e, g, problem := c.group()
	if problem.Kind == reply.Error {
		return problem
	}
	if g.Known(c.Args[4]) != nil {
		return zero
	}
	g.Consumer(c.Args[4], c.Now)
	c.DB.Changed(c.Args[2], e)
	return one
}

func xgroupDeleteConsumer(c *Call) reply.Value {
	e, g, problem := c.group()
	if problem.Kind == reply.Error {
		return problem
	}
	consumer := g.Known(c.Args[4])
	if consumer == nil {
		return zero
	}
	n := consumer.Pending.Len()
	g.DeleteConsumer(consumer)
	c.DB.Changed(c.Args[2], e)
	return number(n)
}

func xack(c *Call) reply.Value {
	e, fits := c.find(c.Args[1], store.StreamKind)
	if !fits {
		return errWrongType
	}
	if e == nil || e.Stream.Group(c.Args[2]) == nil {
		return zero
	}
	ids, valid := parseStreamIDs(c.Args[3:])
	if !valid {
		return errStreamID
	}
	n := 0
	for _, id := range ids {
		if e.Stream.Group(c.Args[2]).Ack(id) {
			n++
		}
	}
	if n > 0 {
		c.DB.Changed(c.Args[1], e)
	}
	return number(n)
}
