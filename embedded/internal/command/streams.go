package command

import (
	"math"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var streamCommands = []Command{
	{Name: "xadd", Arity: -5, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: xadd},
	{Name: "xlen", Arity: 2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Of: store.StreamKind, Missing: zero, Run: length},
	{Name: "xrange", Arity: -4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.xrange(false) }},
	{Name: "xrevrange", Arity: -4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: func(c *Call) resp.Value { return c.xrange(true) }},
	{Name: "xdel", Arity: -3, Flags: Write, First: 1, Last: 1, Step: 1, Of: store.StreamKind, Missing: zero, Run: xdel},
	{Name: "xtrim", Arity: -4, Flags: Write, First: 1, Last: 1, Step: 1, Run: xtrim},
	{Name: "xread", Arity: -4, Flags: ReadOnly, Locate: streamKeys, Run: xread},
}

// addOptions are the words of XADD before the fields, and those of XTRIM.
type addOptions struct {
	trim     store.Trim
	trims    bool
	onlyOld  bool // NOMKSTREAM
	id       store.StreamID
	idGiven  bool
	seqGiven bool
	fields   []string
}

func (c *Call) addOptions(words []string, add bool) (o addOptions, problem resp.Value) {
	o.trim.MaxLen = -1
	limited := false
options:
	for ; len(words) > 0; words = words[1:] {
		switch w := words[0]; {
		case add && w == "*":
			break options
		case (is(w, "maxlen") || is(w, "minid")) && len(words) > 1:
			if o.trims {
				return o, failure("ERR syntax error, MAXLEN and MINID options at the same time are not compatible")
			}
			o.trims = true
			if (words[1] == "~" || words[1] == "=") && len(words) > 2 {
				o.trim.Whole = words[1] == "~"
				words = words[1:]
			}
			if problem := o.threshold(is(w, "maxlen"), words[1]); problem.Kind == resp.Error {
				return o, problem
			}
			words = words[1:]
		case is(w, "limit") && len(words) > 1:
			n, valid := parseInt(words[1])
			switch {
			case !valid:
				return o, errNotInt
			case n < 0:
				return o, failure("ERR The LIMIT argument must be >= 0.")
			}
			o.trim.Limit, limited = n, true
			words = words[1:]
		case add && is(w, "nomkstream"):
			o.onlyOld = true
		case add:
			if problem := o.newID(w); problem.Kind == resp.Error {
				return o, problem
			}
			break options
		default:
			return o, errSyntax
		}
	}
	switch {
	case o.trim.Limit > 0 && !o.trims:
		return o, failure("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy")
	case !add && !o.trims:
		return o, failure("ERR syntax error, XTRIM must be called with a trimming strategy")
	case limited && !o.trim.Whole:
		return o, failure("ERR syntax error, LIMIT cannot be used without the special ~ option")
	case !limited && o.trim.Whole:
		o.trim.Limit = 100 * int64(c.State.streamNode)
	}
	if len(words) > 0 {
		o.fields = words[1:]
	}
	return o, okay
}

func (o *addOptions) threshold(length bool, s string) resp.Value {
	var valid bool
	if !length {
		if o.trim.MinID, valid = parseStreamID(s, 0); !valid {
			return errStreamID
		}
		return okay
	}
	if o.trim.MaxLen, valid = parseInt(s); !valid {
		return errNotInt
	}
	if o.trim.MaxLen < 0 {
		return failure("ERR The MAXLEN argument must be >= 0.")
	}
	return okay
}

// newID reads the ID of a new entry: ms-seq, ms, or ms-*.
func (o *addOptions) newID(s string) resp.Value {
	ms, open := strings.CutSuffix(s, "-*")
	var valid bool
	if o.id, valid = parseStreamID(ms, 0); !valid || open && strings.Contains(ms, "-") {
		return errStreamID
	}
	o.idGiven, o.seqGiven = true, !open
	return okay
}

// place returns the ID of the next entry, or false if there is none that fits.
func (o *addOptions) place(last store.StreamID, now int64) (store.StreamID, bool) {
	switch {
	case o.seqGiven:
		return o.id, o.id.Compare(last) > 0
	case o.idGiven && o.id.MS == last.MS:
		next, ok := last.Next()
		return next, ok && next.MS == last.MS
	case o.idGiven:
		return o.id, o.id.Compare(last) > 0
	case uint64(now) > last.MS:
		return store.StreamID{MS: uint64(now)}, true
	}
	return last.Next()
}

func xadd(c *Call) resp.Value {
	o, problem := c.addOptions(c.Args[2:], true)
	switch {
	case problem.Kind == resp.Error:
		return problem
	case len(o.fields) < 2 || len(o.fields)%2 != 0:
		return c.arity()
	case o.seqGiven && o.id == store.StreamID{}:
		return failure("ERR The ID specified in XADD must be greater than 0-0")
	}
	key := c.Args[1]
	e, fits := c.find(key, store.StreamKind)
	var last store.StreamID
	switch {
	case !fits:
		return errWrongType
	case e != nil:
		last = e.Stream.Last
	case o.onlyOld:
		return null
	}
	if last == store.LastStreamID {
		return failure("ERR The stream has exhausted the last possible ID, unable to add more items")
	}
	id, ok := o.place(last, c.Now)
	if !ok {
		return failure("ERR The ID specified in XADD is equal or smaller than the target stream top item")
	}
	if e == nil {
		e = c.DB.Create(key, store.StreamKind)
	}
	e.Stream.Add(id, o.fields, c.State.streamNode)
	if o.trims {
		e.Stream.Trim(o.trim)
	}
	c.DB.Changed(key, e)
	return streamID(id)
}

func xtrim(c *Call) resp.Value {
	o, problem := c.addOptions(c.Args[2:], false)
	if problem.Kind == resp.Error {
		return problem
	}
	e, otherwise := c.at(store.StreamKind, zero)
	if e == nil {
		return otherwise
	}
	n := e.Stream.Trim(o.trim)
	if n > 0 {
		c.DB.Changed(c.Args[1], e)
	}
	return number(n)
}

func xdel(c *Call) resp.Value {
	ids, valid := parseStreamIDs(c.Args[2:])
	if !valid {
		return errStreamID
	}
	n := 0
	for _, id := range ids {
		if c.Entry.Stream.Delete(id) {
			n++
		}
	}
	if n > 0 {
		c.DB.Changed(c.Args[1], c.Entry)
	}
	return number(n)
}

func (c *Call) xrange(reverse bool) resp.Value {
	from, to := c.Args[2], c.Args[3]
	if reverse {
		from, to = to, from
	}
	first, last, problem := streamInterval(from, to)
	if problem.Kind == resp.Error {
		return problem
	}
	count := int64(-1)
	for words := c.Args[4:]; len(words) > 0; words = words[2:] {
		if len(words) == 1 || !is(words[0], "count") {
			return errSyntax
		}
		n, valid := parseInt(words[1])
		if !valid {
			return errNotInt
		}
		count = max(n, 0)
	}
	e, otherwise := c.at(store.StreamKind, none)
	switch {
	case e == nil:
		return otherwise
	case count == 0:
		return nilArray
	}
	values := []resp.Value{}
	walk := e.Stream.Ascend(first)
	if reverse {
		walk = e.Stream.Descend(last)
	}
	for id, fields := range walk {
		if id.Compare(first) < 0 || id.Compare(last) > 0 || int64(len(values)) == count {
			break
		}
		values = append(values, entry(id, fields))
	}
	return array(values)
}

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

func (c *Call) parseRead() (o readOptions, problem resp.Value) {
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
func (o *readOptions) resolve(c *Call) (ids []store.StreamID, problem resp.Value) {
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

func xread(c *Call) resp.Value {
	o, problem := c.parseRead()
	if problem.Kind == resp.Error {
		return problem
	}
	ids, problem := o.resolve(c)
	if problem.Kind == resp.Error {
		return problem
	}
	var values []resp.Value // of all streams that have some
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
	return resp.Of(resp.NestedMap, values...)
}

func entriesAfter(s *store.Stream, after store.StreamID, count int64) (found []resp.Value) {
	from, ok := after.Next()
	if !ok {
		return nil
	}
	for id, fields := range s.Ascend(from) {
		found = append(found, entry(id, fields))
		if int64(len(found)) == count {
			break
		}
	}
	return found
}

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
func streamInterval(from, to string) (first, last store.StreamID, problem resp.Value) {
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

func streamID(id store.StreamID) resp.Value { return bulk(id.String()) }

// entry is one entry of a stream as XRANGE shows it.
func entry(id store.StreamID, fields []string) resp.Value {
	return array([]resp.Value{streamID(id), texts(fields)})
}

func texts(all []string) resp.Value {
	values := make([]resp.Value, len(all))
	for i, s := range all {
		values[i] = bulk(s)
	}
	return array(values)
}
