package steps_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// Each test here is a mistake that an earlier system of this kind has made; the number is that of the list in which they
// are collected.

// A clock that jumps back or ahead: no client is admitted more often within a window of that clock, and no client is shut
// out for longer than the jump and a window.
func TestMistake13_clockJumps(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		const window = 10 * time.Second
		for _, jump := range []time.Duration{-time.Millisecond, -window, -window - time.Microsecond, -time.Hour, -1000 * day, time.Hour, 1000 * day} {
			s.Set(t, luatest.Start)
			s.Do(t, "FLUSHDB")
			p, tokens := logParams{Subject: "u1", Limit: 2, Window: window}, gcraParams{Subject: "u1", Limit: 2, Period: window}
			take := func() (log, bucket bool, wait time.Duration) {
				l, err := c.SlidingLog(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				b, err := c.GCRA(t.Context(), tokens)
				if err != nil {
					t.Fatal(err)
				}
				return l.Allowed, b.Allowed, max(l.RetryAfter, b.RetryAfter)
			}
			take()
			take()
			s.Advance(t, jump)
			logged, taken := 0, 0
			for range 5 {
				l, b, wait := take()
				if most := 2*window + time.Millisecond; wait > most {
					t.Errorf("after a jump of %s a caller waits %s, want %s at most", jump, wait, most)
				}
				if l {
					logged++
				}
				if b {
					taken++
				}
			}
			if logged > 2 || taken > 2 {
				t.Errorf("after a jump of %s %d and %d of 5 pass at one time, and the limit is 2", jump, logged, taken)
			}
			s.Advance(t, 2*window+time.Millisecond)
			if l, b, _ := take(); !l || !b {
				t.Errorf("two windows after a jump of %s: sliding_log %v, gcra %v, want both allowed", jump, l, b)
			}
		}
	})
}
