package contract

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

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

// grows makes a call on ever more elements, and reports whether its work grows with them.
func (c *checker) grows(op *call, key string, fill func(n int)) bool {
	var costs [4]int
	for i, n := range sizes {
		fill(n)
		c.server.advance(1000)
		costs[i] = c.measure(op)
		if i == 1 && costs[1] < 4*costs[0]+200 {
			return false
		}
	}
	if costs[3] <= 2*costs[2] {
		return false
	}
	found := finding(op, "key-loop", c.watch.heavy(), fmt.Sprintf("the work of a call grows with %s: %d, %d, %d and %d for 30, 1,000, 11,000 and 33,000 elements",
		key, costs[0], costs[1], costs[2], costs[3]))
	found.Steps = []Step{{call: op}}
	c.keep(found)
	return true
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

// filled calls a function on keys that the library itself does not fill.
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
		seen := map[string]bool{} // of a group one row's keys are enough
		for _, k := range op.keys() {
			if seen[k.field.Name] || c.watch.fills[suffixOf(k.name)] {
				continue
			}
			seen[k.field.Name] = true
			kind := k.field.Redis
			if kind == "any" || kind == "" {
				kind = []string{"zset", "string", "hash", "list"}[try%4]
			}
			if c.grows(op, k.name, func(n int) {
				c.server.reset()
				c.stock(k.name, kind, n, func(i int) (name, value string) {
					score := c.server.now/1000 + int64(i-n)
					if try%2 == 1 {
						score = c.server.now + int64(i+1000)*1000
					}
					return fmt.Sprintf("%08d", i+1), strconv.FormatInt(score, 10)
				})
			}) {
				return
			}
		}
	}
}

// stock makes a key of n elements.
func (c *checker) stock(key, kind string, n int, element func(i int) (name, value string)) {
	c.server.do("DEL", key)
	words := make([]string, 0, 2*n)
	for i := range n {
		name, value := element(i)
		switch kind {
		case "hash":
			words = append(words, name, value)
		case "zset":
			words = append(words, value, name)
		case "stream":
			c.server.do("XADD", key, "*", "f", name)
		default:
			words = append(words, name)
		}
	}
	if kind == "string" {
		words = []string{strings.Join(words, "")}
	}
	if kind != "stream" {
		c.server.do(append([]string{kinds[kind], key}, words...)...)
	}
}

// grownCalls is how often each function of a library is called for one subject.
const grownCalls = 150

// grown calls the functions of a library again and again, with the same numbers and new names. Of keys that grow all the time, the elements
// are then repeated ever more often.
func (c *checker) grown() {
	c.server.reset()
	c.start()
	c.tame = true
	calls := map[*function]*call{}
	for _, f := range c.functions {
		calls[f] = &call{function: f, subject: "u"}
		c.fill(calls[f])
	}
	var half map[string]content
	most := grownCalls * len(c.functions)
	for n := range most {
		if n == most/2 {
			c.server.look(c.server.keys())
			half = maps.Clone(c.server.held)
		}
		f := pick(c.drawer, c.functions)
		calls[f] = calls[f].clone()
		calls[f].rename(n, c.server.now)
		c.server.advance(pick(c.drawer, []int64{1, 1000}))
		if c.measure(calls[f]); len(c.watch.endless) > 0 {
			return
		}
	}
	c.server.look(c.server.keys())
	held := maps.Clone(c.server.held)
	for _, f := range c.functions {
		for _, k := range calls[f].keys() {
			if is := held[k.name]; is.size() >= 100 && 2*is.size() > 3*half[k.name].size() {
				c.grows(calls[f], k.name, func(n int) { c.stock(k.name, is.kind, n, is.repeated()) })
			}
		}
	}
}
