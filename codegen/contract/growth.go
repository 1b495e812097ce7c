package contract

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// growth looks for calls whose work grows with what their keys hold.
func (c *checker) growth() {
	for _, f := range c.functions {
		if !c.watch.endless[f.Server] {
			c.filled(f)
		}
	}
	if len(c.watch.endless) == 0 {
		c.grown()
	}
}

// The sizes of keys for which a call is measured. Reading up to 10,000 elements is a stated bound of many a good function, so work is
// unbounded only if it still grows beyond.
var sizes = [4]int{30, 1000, 11_000, 33_000}

// filled calls a function on keys with ever more elements.
func (c *checker) filled(f *function) {
	for try := range 9 {
		c.start()
		c.tame = true
		op := &call{function: f, subject: "u"}
		c.fill(op)
		if try%3 == 2 { // bounds that callers pass do not count as bounds
			for i, p := range op.args {
				if p.Kind.Integer() && p.Max > 20_000 && p.Kind != spec.KindDuration && p.Kind != spec.KindTime {
					op.values[i] = value{text: strconv.FormatInt(pick(c.drawer, []int64{p.Max, p.Max, 19_000, 100_000}), 10)}
				}
			}
		}
		seen := map[string]bool{}
		for _, k := range op.keys() {
			if seen[k.field.Name] || c.watch.fills[suffixOf(k.name)] { // what the library itself fills is grown
				continue
			}
			seen[k.field.Name] = true
			kind := k.field.Redis
			if kind == "any" || kind == "" {
				kind = []string{"zset", "string", "hash", "list"}[try%4]
			}
			var costs [4]int
			for i, n := range sizes {
				costs[i] = c.costOf(op, k.name, kind, n, try%2 == 1)
				if i == 1 && costs[1] < 4*costs[0]+200 {
					break
				}
			}
			if costs[3] > 2*costs[2] {
				found := finding(op, "key-loop", c.watch.heavy(), fmt.Sprintf("the work of a call grows with %s: %d, %d, %d and %d for 30, 1,000, 11,000 and 33,000 elements",
					k.name, costs[0], costs[1], costs[2], costs[3]))
				found.Steps = []Step{{call: op}}
				c.keep(found)
				return
			}
		}
	}
}

// costOf is what a call costs on a key with so many elements.
func (c *checker) costOf(op *call, key, kind string, n int, future bool) int {
	c.server.reset()
	first := c.server.now/1000 - int64(n)
	if future {
		first = c.server.now + 1_000_000
	}
	elements := make([]string, 0, 400)
	send := func(least int) {
		if len(elements) > least {
			c.server.do(append([]string{kinds[kind], key}, elements...)...)
			elements = elements[:0]
		}
	}
	if kind == "string" {
		text := make([]byte, 0, 8*n)
		for i := range n {
			text = fmt.Appendf(text, "%08d", i+1)
		}
		elements = append(elements, string(text))
	} else {
		for i := range n {
			name := fmt.Sprintf("%08d", i+1)
			switch kind {
			case "list", "set":
				elements = append(elements, name)
			case "hash":
				elements = append(elements, name, "1")
			case "zset":
				score := int64(i + 1)
				if future {
					score = first + int64(i)*1000
				}
				elements = append(elements, strconv.FormatInt(score, 10), name)
			case "stream":
				elements = append(elements, "*", "f", strconv.Itoa(i))
				send(0)
			}
			send(400)
		}
	}
	send(0)
	c.server.advance(1_000_000)
	return c.measure(op)
}

// measure makes a call only for its cost, which does not count where the author says that a key is small.
func (c *checker) measure(op *call) int {
	c.watch.foreign, c.watch.garbage = true, true
	c.watch.begin()
	c.server.do(op.words()...)
	if c.watch.excused {
		return 0
	}
	return c.watch.cost
}

// grownCalls is how often a library is called for one subject.
const grownCalls = 1200

// grown calls the functions of a library again and again, with the same numbers and new names, and compares what early and late calls cost.
func (c *checker) grown() {
	type cost struct {
		early, mid, late int
		last             *call
		line             int
	}
	for round := range 2 {
		c.server.reset()
		c.start()
		c.tame = true
		bases, costs := map[*function]*call{}, map[*function]*cost{}
		for _, f := range c.functions {
			bases[f] = &call{function: f, subject: "u"}
			c.fill(bases[f])
			costs[f] = &cost{}
		}
		for n := range grownCalls {
			f := pick(c.drawer, c.functions)
			op := bases[f].clone()
			for i, p := range op.args {
				ofKey := slices.ContainsFunc(f.Params, func(k spec.Field) bool {
					return k.SuffixOf == p.Name || slices.Contains(k.SuffixBy, p.Name) || k.With == p.Name
				})
				switch {
				case p.Kind == spec.KindText && p.Max >= 6 && !ofKey && !op.values[i].absent:
					op.values[i] = value{text: "n" + strconv.Itoa(n)}
				case p.Kind == spec.KindTime:
					op.values[i] = value{text: strconv.FormatInt(min(max(c.server.now+1_000_000, p.Min), p.Max), 10)}
				}
			}
			c.server.advance(int64(round*999 + 1))
			at, is := costs[f], c.measure(op)
			switch {
			case len(c.watch.endless) > 0:
				return
			case n >= 20 && n < 60:
				at.early = max(at.early, is)
			case n >= grownCalls/2 && n < grownCalls/2+60:
				at.mid = max(at.mid, is)
			case n >= grownCalls-60 && is > at.late:
				at.late, at.last, at.line = is, op, c.watch.heavy()
			}
		}
		for _, f := range slices.SortedFunc(maps.Keys(costs), func(a, b *function) int { return a.Line - b.Line }) {
			if at := costs[f]; at.early > 0 && at.late > 5*at.early+100 && at.mid > 3*at.early && 2*at.late > 3*at.mid && !c.bounded(at.last, at.late) {
				found := finding(at.last, "key-loop", at.line, fmt.Sprintf("the work of a call grows with the calls before: %d after 40, %d after %d and %d after %d", at.early, at.mid, grownCalls/2, at.late, grownCalls))
				found.Steps = []Step{{call: at.last}}
				c.keep(found)
			}
		}
	}
}

// bounded reports whether a call whose work has grown with the calls before stops growing at a bound of its own, such as that of LPOS
// with MAXLEN. It makes the call for another subject, under whose keys each element is repeated, ever more often.
func (c *checker) bounded(op *call, cost int) bool {
	other := op.clone()
	other.subject = "copy"
	from, to := op.keys(), other.keys()
	grew, before := false, cost
	for times := 2; ; times *= 2 {
		least := 0 // elements of a key that has grown
		for i := range to {
			if to[i].name == from[i].name {
				continue
			}
			if n := c.repeat(from[i].name, to[i].name, times); n >= 100*times && (least == 0 || n < least) {
				least = n
			}
		}
		is := c.measure(other)
		switch {
		case least == 0 || len(c.watch.endless) > 0:
			return false
		case least > sizes[3]:
			return grew && is < before+before/5+20
		}
		grew = grew || is > cost+cost/4
		before = max(before, is)
	}
}

// repeat stores under a key what another holds, with each of its elements so many times, and returns how many that are.
func (c *checker) repeat(from, to string, times int) int {
	c.server.do("DEL", to)
	held, ok := c.server.content(from)
	if !ok || held.kind == "string" || held.kind == "stream" {
		return 0
	}
	words := []string{kinds[held.kind], to}
	for _, e := range slices.Sorted(maps.Keys(held.elements)) {
		v := held.elements[e]
		for n := range times {
			name := e
			if n > 0 {
				name += "~" + strconv.Itoa(n)
			}
			switch held.kind {
			case "hash":
				words = append(words, name, v)
			case "zset":
				words = append(words, v, name)
			default:
				words = append(words, name)
			}
		}
	}
	c.server.do(words...)
	return times * len(held.elements)
}
