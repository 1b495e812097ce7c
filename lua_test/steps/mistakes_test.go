package steps_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// Each test here is a mistake that an earlier system of this kind has made; the number is that of the list in which they
// are collected.

// Clean, count and add as commands of their own: 50 of 50 pass a limit of 10.
func TestMistake01_decisionInSeveralCommands(t *testing.T) {
	limiters.EachOnRealTime(t, func(t *testing.T, _ *luatest.Server, c *ratelimit.Client) {
		for _, k := range limiterKinds {
			if got := atOnce(t, 50, k.call(c, 10)); got != 10 {
				t.Errorf("%s admitted %d of 50 at once, want 10", k.name, got)
			}
		}
	})
}

// Member equals score equals the clock: requests of one tick overwrite each other.
func TestMistake02_sameTickOverwrites(t *testing.T) {
	take := slidingLog(logParams{Subject: "u1", Limit: 3, Window: time.Second})
	var steps []step
	for i := range int64(3) {
		steps = append(steps, step{Call: take, Writes: true, Want: logResult{Allowed: true, Count: i + 1, Remaining: 2 - i, ResetAfter: time.Second}})
	}
	limiters.Run(t, append(steps, step{Call: take, Want: logResult{Count: 3, RetryAfter: time.Second, ResetAfter: time.Second}})...)
}

// The request is added before it is judged: a client that keeps asking keeps the window full.
func TestMistake03_refusedTrafficFillsTheWindow(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		p := logParams{Subject: "u1", Limit: 1, Window: 10 * time.Second}
		tokens := gcraParams{Subject: "u1", Limit: 1, Period: 10 * time.Second}
		for i := range 31 {
			log, err := c.SlidingLog(t.Context(), p)
			if want := i%10 == 0; err != nil || log.Allowed != want {
				t.Errorf("sliding_log in second %d: %+v %v, want allowed %v", i, log, err, want)
			}
			bucket, err := c.GCRA(t.Context(), tokens)
			if want := i%10 == 0; err != nil || bucket.Allowed != want {
				t.Errorf("gcra in second %d: %+v %v, want allowed %v", i, bucket, err, want)
			}
			s.Advance(t, time.Second)
		}
	})
}

// The bucket holds the session's part of the identity: each new session brings a new limit. The stable part is the
// bucket, and the whole is the receipt.
func TestMistake04_newSessionNewLimit(t *testing.T) {
	var steps []step
	for i := range int64(3) {
		session := logParams{Subject: "stable-hash", Limit: 2, Window: time.Minute, Receipt: fmt.Sprintf("fp:session-%d:stable-hash", i)}
		if i < 2 {
			steps = append(steps, step{Call: slidingLog(session), Writes: true, Want: logResult{Allowed: true, Count: i + 1, Remaining: 1 - i, ResetAfter: time.Minute}})
		} else {
			steps = append(steps, step{Name: "a third session", Call: slidingLog(session), Want: logResult{Count: 2, RetryAfter: time.Minute, ResetAfter: time.Minute}})
		}
	}
	limiters.Run(t, steps...)
}

// A duplicate renews its own entry: a client that repeats one receipt often enough is never counted again.
func TestMistake10_duplicateRenewsItself(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		counted := 0
		for range 60 {
			r, err := c.SlidingLog(t.Context(), receipt(100, "r1"))
			if err != nil {
				t.Fatal(err)
			}
			if !r.Duplicate {
				counted++
			}
			s.Advance(t, time.Second)
		}
		if counted != 6 {
			t.Errorf("one receipt, sent each second for a minute, is counted %d times, want once each 10 s", counted)
		}
	})
}

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
