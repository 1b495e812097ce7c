package contract

import (
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
	c.resume(steps)
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
