package contract

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// leave plays a sequence, for what it leaves on the server; false if it has a finding or a command that the engine lacks.
func (c *checker) leave(steps []Step) bool {
	p := c.play(steps)
	c.calls += len(p.replies)
	return len(p.found) == 0 && len(p.replies) == len(steps) && !c.watch.blind
}

// further adds two calls to a sequence, when something ends that it has left: a key, or a time in one.
func (c *checker) further(steps []Step) []Step {
	if !c.leave(steps) {
		return nil
	}
	ends := c.server.ends()
	if len(ends) == 0 {
		return nil
	}
	wait := max(0, pick(c.drawer, ends)-c.server.now+pick(c.drawer, []int64{-1, 0, 0, 1, 1000}))
	next := steps[len(steps)-1].call
	if c.IntN(3) > 0 {
		next = c.call()
	}
	last := next
	if len(next.args) > 0 && c.IntN(2) == 0 {
		last = c.changed(next)
	} else if c.IntN(2) == 0 {
		last = c.call()
	}
	return append(slices.Clone(steps), Step{Advance: wait, call: next}, Step{Advance: pick(c.drawer, []int64{0, 1, 1000, 1_000_000}), call: last})
}

var timeForm = regexp.MustCompile(`\d{16}|\d{13}|\d{10}`) // in microseconds, milliseconds or seconds

// timeOf reads a time, and returns its unit, both in microseconds.
func timeOf(digits string, now int64) (at, unit int64) {
	at, _ = strconv.ParseInt(digits, 10, 64)
	for unit = 1; at > 0 && at < now/2; unit *= 1000 {
		at *= 1000
	}
	return at, unit
}

// ends are when keys end, and the times in their content that are still to come, in microseconds.
func (s *server) ends() (all []int64) {
	for _, c := range s.held {
		if c.expires > 0 {
			all = append(all, c.expires*1000)
		}
		c.each(func(_, text string) {
			all = append(all, s.future(text)...)
		})
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// future are the times in a text, in microseconds or milliseconds, that are still to come, and not beyond what keys live.
func (s *server) future(text string) (all []int64) {
	for _, digits := range timeForm.FindAllString(text, -1) {
		n, _ := timeOf(digits, s.now)
		if n > s.now && n < s.now+4000*day {
			all = append(all, n)
		}
	}
	return all
}

// spoil plays a sequence, and adds a call that finds one thing changed in a key that it needs.
func (c *checker) spoil(steps []Step) []Step {
	if !c.leave(steps) || len(c.server.held) == 0 {
		return nil
	}
	keys := slices.Sorted(maps.Keys(c.server.held))
	key := pick(c.drawer, keys)
	held := c.server.held[key]
	element := ""
	if all := slices.Sorted(maps.Keys(held.elements)); len(all) > 0 {
		element = pick(c.drawer, all)
	}
	var words []string
	switch held.kind {
	case "string":
		words = []string{"SET", key, pick(c.drawer, []string{c.odd(), c.whole(), held.text + "x", held.text[:len(held.text)/2]}), "KEEPTTL"}
	case "hash":
		words = pick(c.drawer, [][]string{{"HSET", key, element, c.odd()}, {"HSET", key, element, c.whole()}, {"HDEL", key, element}})
	case "list":
		words = []string{"LSET", key, pick(c.drawer, []string{"0", "-1"}), pick(c.drawer, []string{c.odd(), c.whole()})}
	case "zset":
		words = pick(c.drawer, [][]string{{"ZADD", key, pick(c.drawer, []string{"-1", "1.5", "1e18", "inf", c.whole()}), element}, {"ZADD", key, held.elements[element], c.odd()}})
	default:
		return nil
	}
	var users []*call
	for _, s := range steps {
		if slices.ContainsFunc(s.call.keys(), func(k keyed) bool { return k.name == key }) {
			users = append(users, s.call)
		}
	}
	last := Step{Foreign: [][]string{words}, garbage: true, call: c.call()}
	if len(users) > 0 && c.IntN(3) > 0 {
		last.call = pick(c.drawer, users)
	}
	return append(slices.Clone(steps), last)
}
