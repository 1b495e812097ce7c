package command

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var sortCommands = []Command{
	{Name: "sort", Arity: -2, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Locate: sortStoreKey, Run: func(c *Call) reply.Value { return c.sort(true) }},
	{Name: "sort_ro", Arity: -2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Locate: sortStoreKey, Run: func(c *Call) reply.Value { return c.sort(false) }},
}

// sortOptions are the words of SORT.
type sortOptions struct {
	descending, alpha, unsorted bool
	offset, count               int64
	by                          string
	get                         []string
	store                       string
	stores                      bool
}

// sortStoreKey finds the key behind the last STORE.
func sortStoreKey(args []string) (keys []string) {
	for i := 2; i < len(args); i++ {
		switch w := args[i]; {
		case is(w, "limit"):
			i += 2
		case is(w, "by"), is(w, "get"):
			i++
		case is(w, "store") && i+1 < len(args):
			i++
			keys = args[i : i+1]
		}
	}
	return keys
}

func parseSort(words []string, mayStore bool) (o sortOptions, problem reply.Value) {
	o.count = -1
	for i := 0; i < len(words); i++ {
		w, more := words[i], len(words)-i-1
		switch {
		case is(w, "asc"):
			o.descending = false
		case is(w, "desc"):
			o.descending = true
		case is(w, "alpha"):
			o.alpha = true
		case is(w, "limit") && more >= 2:
			var first, second bool
			o.offset, first = parseInt(words[i+1])
			o.count, second = parseInt(words[i+2])
			if !first || !second {
				return o, errNotInt
			}
			i += 2
		case is(w, "store") && more >= 1 && mayStore:
			i++
			o.store, o.stores = words[i], true
		case is(w, "by") && more >= 1:
			i++
			o.by = words[i]
			o.unsorted = !strings.Contains(o.by, "*")
		case is(w, "get") && more >= 1:
			i++
			o.get = append(o.get, words[i])
		default:
			return o, errSyntax
		}
	}
	return o, okay
}

// sort is SORT and SORT_RO.
func (c *Call) sort(mayStore bool) reply.Value {
	o, problem := parseSort(c.Args[2:], mayStore)
	if problem.Kind == reply.Error {
		return problem
	}
	e := c.DB.Get(c.Args[1], c.Now)
	if e != nil && e.Kind != store.List && e.Kind != store.Set && e.Kind != store.ZSet {
		return errWrongType
	}
	if o.unsorted && e != nil && e.Kind == store.Set && (o.stores || c.Scripted) {
		o.unsorted, o.alpha, o.by = false, true, "" // the same order each time
	}
	all := sortable(e)
	switch {
	case !o.unsorted:
		sorted, valid := c.arrange(all, o)
		if !valid {
			return failure("ERR One or more scores can't be converted into double")
		}
		all = sorted
	case o.descending && e != nil && e.Kind != store.Set:
		slices.Reverse(all)
	}
	from := min(max(o.offset, 0), int64(len(all)))
	if o.count >= 0 {
		all = all[:min(from+min(o.count, int64(len(all))), int64(len(all)))]
	}
	all = all[from:]
	if o.stores {
		return c.storeSorted(all, o)
	}
	values := make([]reply.Value, 0, len(all)*max(len(o.get), 1))
	c.project(all, o, func(text string, there bool) {
		if there {
			values = append(values, bulk(text))
		} else {
			values = append(values, null)
		}
	})
	return array(values)
}

func sortable(e *store.Entry) (all []string) {
	switch {
	case e == nil:
	case e.Kind == store.List:
		for i := range e.List.Len() {
			all = append(all, e.List.At(i))
		}
	case e.Kind == store.Set:
		e.Set.Each(func(member string) { all = append(all, member) })
	default:
		for n := e.ZSet.At(0); n != nil; n = n.Next() {
			all = append(all, n.Member)
		}
	}
	return all
}

// A weighted element is sorted by its score, or by its text: none comes first.
type weighted struct {
	element string
	score   float64
	text    string
	there   bool
}

// arrange sorts. It is false if a weight is not a number.
func (c *Call) arrange(all []string, o sortOptions) (sorted []string, valid bool) {
	list := make([]weighted, len(all))
	for i, element := range all {
		w := weighted{element: element, text: element, there: true}
		if o.by != "" {
			w.text, w.there = c.substitute(o.by, element)
		}
		if !o.alpha && w.there {
			if w.score, valid = sortWeight(w.text); !valid {
				return nil, false
			}
		}
		list[i] = w
	}
	slices.SortStableFunc(list, func(x, y weighted) int {
		order := 0
		switch {
		case !o.alpha:
			order = cmp.Or(cmp.Compare(x.score, y.score), strings.Compare(x.element, y.element))
		case x.there != y.there:
			order = 1
			if y.there {
				order = -1
			}
		default:
			order = strings.Compare(x.text, y.text)
		}
		if o.descending {
			return -order
		}
		return order
	})
	for i, w := range list {
		all[i] = w.element
	}
	return all, true
}

// sortWeight is parseFloat with what strtod of C skips.
func sortWeight(s string) (float64, bool) {
	if s = strings.TrimLeft(s, " \t\n\v\f\r"); s == "" {
		return 0, true
	}
	return parseFloat(s)
}

// substitute puts an element in place of the first * of a pattern, and looks up the key, or the field behind "->" of a hash.
func (c *Call) substitute(pattern, element string) (text string, there bool) {
	if pattern == "#" {
		return element, true
	}
	before, after, found := strings.Cut(pattern, "*")
	if !found {
		return "", false
	}
	rest, field, ofHash := strings.Cut(after, "->")
	if field == "" {
		rest, ofHash = after, false
	}
	e := c.DB.Get(before+element+rest, c.Now)
	switch {
	case e == nil:
	case ofHash && e.Kind == store.Hash:
		return e.Hash.Get(field)
	case !ofHash && e.Kind == store.String:
		return e.Str, true
	}
	return "", false
}

// project visits what the GET patterns ask for, or the elements.
func (c *Call) project(all []string, o sortOptions, visit func(text string, there bool)) {
	for _, element := range all {
		if len(o.get) == 0 {
			visit(element, true)
		}
		for _, pattern := range o.get {
			visit(c.substitute(pattern, element))
		}
	}
}

func (c *Call) storeSorted(all []string, o sortOptions) reply.Value {
	list := &store.Deque{}
	c.project(all, o, func(text string, _ bool) { list.PushBack(text) })
	if list.Len() == 0 {
		c.DB.Delete(o.store)
		return zero
	}
	c.DB.Put(o.store, store.Entry{Kind: store.List, List: list, Expire: store.Never})
	return number(list.Len())
}
