package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// A bucket is the key's expiry, a time in its value, or a time with a fraction, as the limit has it. Each mode reads what
// another one wrote.
func TestGCRA_limitsChangeBetweenModes(t *testing.T) {
	byTTL := gcraParams{Subject: "u1", Limit: 3, Period: 60 * time.Second}                      // 20 s a token
	byValue := gcraParams{Subject: "u1", Limit: 3, Period: 60*time.Second + 3*time.Microsecond} // 20.000001 s
	byFraction := gcraParams{Subject: "u1", Limit: 7, Period: time.Minute}                      // 8.571428 4/7 s
	ninths := gcraParams{Subject: "u1", Limit: 9, Period: 70 * time.Second}                     // 7.777777 7/9 s
	with := func(p gcraParams, n int64) func(context.Context, *ratelimit.Client) (any, error) {
		p.Cost = cost(n)
		return gcra(p)
	}
	limiters.Run(
		t,
		step{Name: "expiry", Call: with(byTTL, 1), Writes: true, TTLs: bucket(20 * time.Second), Want: gcraResult{Allowed: true, Remaining: 2, ResetAfter: 20 * time.Second}},
		step{Name: "expiry read for a value: the clock is 901 µs into its millisecond", Call: with(byValue, 0), Want: gcraResult{Allowed: true, Remaining: 2, ResetAfter: 19_999_099 * time.Microsecond}},
		step{Name: "expiry to value", Call: with(byValue, 1), Writes: true, TTLs: bucket(40 * time.Second), Want: gcraResult{Allowed: true, Remaining: 1, ResetAfter: 39_999_100 * time.Microsecond}},
		step{Name: "value read for an expiry: up to a millisecond", Call: with(byTTL, 0), Want: gcraResult{Allowed: true, Remaining: 1, ResetAfter: 40 * time.Second}},
		step{Name: "value to fraction", Call: with(byFraction, 1), Writes: true, TTLs: bucket(48_571 * time.Millisecond), Want: gcraResult{Allowed: true, Remaining: 1, ResetAfter: 48_570_529 * time.Microsecond}},
		step{Name: "a fraction of another limit is rounded up", Call: with(ninths, 0), Want: gcraResult{Allowed: true, Remaining: 2, ResetAfter: 48_570_529 * time.Microsecond}},
		step{Name: "fraction to fraction: 4/7 are 6/9, and 7/9", Call: with(ninths, 1), Writes: true, Want: gcraResult{Allowed: true, Remaining: 1, ResetAfter: 56_348_307 * time.Microsecond}},
		step{Name: "fraction to value", Call: with(byValue, 1), Want: gcraResult{RetryAfter: 16_348_305 * time.Microsecond, ResetAfter: 56_348_307 * time.Microsecond}},
		step{Name: "fraction to expiry", Advance: 30 * time.Second, Call: with(byTTL, 1), Writes: true, TTLs: bucket(46_349 * time.Millisecond), Want: gcraResult{Allowed: true, ResetAfter: 46_349 * time.Millisecond}},
		step{Name: "expiry to fraction", Call: with(byFraction, 1), Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 54_919_528 * time.Microsecond}},
		step{Name: "a level above the new capacity waits until it is not", Call: with(gcraParams{Subject: "u1", Limit: 1, Period: time.Second}, 1), Want: gcraResult{RetryAfter: 54_920 * time.Millisecond, ResetAfter: 54_920 * time.Millisecond}},
		step{Name: "by value too", Call: with(gcraParams{Subject: "u1", Limit: 1, Period: time.Second + time.Microsecond}, 0), Want: gcraResult{RetryAfter: 53_919_527 * time.Microsecond, ResetAfter: 54_919_528 * time.Microsecond}},
		step{Name: "one tick sooner", Advance: 54_919 * time.Millisecond, Call: with(gcraParams{Subject: "u1", Limit: 1, Period: time.Second}, 1), Want: gcraResult{RetryAfter: time.Millisecond, ResetAfter: time.Millisecond}},
		step{Name: "at retry_after", Advance: time.Millisecond, Call: with(gcraParams{Subject: "u1", Limit: 1, Period: time.Second}, 1), Writes: true, TTLs: bucket(time.Second), Want: gcraResult{Allowed: true, ResetAfter: time.Second}},
	)
}

// A call that waits by the microsecond for a bucket that was written by the millisecond: counted in whole milliseconds,
// the wait of 998.5 ms was one of which only 998 had passed at its end.
func TestGCRA_retryAfterIsExactAfterALimitByMilliseconds(t *testing.T) {
	byTTL := gcra(gcraParams{Subject: "u1", Limit: 2, Period: 2 * time.Second, Cost: cost(2)})
	byValue := gcra(gcraParams{Subject: "u1", Limit: 2, Period: 2_003 * time.Millisecond}) // 1.0015 s
	limiters.Run(
		t,
		step{Name: "at a whole millisecond", Advance: 99 * time.Microsecond, Call: byTTL, Writes: true, TTLs: bucket(2 * time.Second), Want: gcraResult{Allowed: true, ResetAfter: 2 * time.Second}},
		step{Call: byValue, Want: gcraResult{RetryAfter: 998_500 * time.Microsecond, ResetAfter: 2 * time.Second}},
		step{Name: "one tick sooner", Advance: 998_499 * time.Microsecond, Call: byValue, Want: gcraResult{RetryAfter: time.Microsecond, ResetAfter: 1_001_501 * time.Microsecond}},
		step{Name: "at retry_after", Advance: time.Microsecond, Call: byValue, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 2_003 * time.Millisecond}},
	)
}

func TestGCRA_burstApartFromLimit(t *testing.T) {
	low := gcra(gcraParams{Subject: "u1", Limit: 60, Period: time.Minute, Burst: 1})
	high := gcra(gcraParams{Subject: "u2", Limit: 1, Period: time.Second, Burst: 5, Cost: cost(5)})
	limiters.Run(
		t,
		step{Call: low, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: time.Second}},
		step{Call: low, Want: gcraResult{RetryAfter: time.Second, ResetAfter: time.Second}},
		step{Advance: time.Second, Call: low, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: time.Second}},
		step{Call: high, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 5 * time.Second}},
		step{Call: high, Want: gcraResult{RetryAfter: 5 * time.Second, ResetAfter: 5 * time.Second}},
	)
}

// Seven a minute is 70,000 in 10,000 minutes, whether they are taken at the end of each minute or each as soon as it is
// there. The burst comes first and is not among them.
func TestGCRA_sevenAMinuteFor10000Minutes(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		periods := 10_000
		switch {
		case s.Engine != "embedded":
			periods = 100
		case suites.Slow || testing.Short():
			periods = 1000
		}
		p := gcraParams{Subject: "minutes", Limit: 7, Period: time.Minute}
		greedy := gcraParams{Subject: "greedy", Limit: 7, Period: time.Minute}
		drain := func(p gcraParams) (n int, retry time.Duration) {
			for {
				r, err := c.GCRA(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				if !r.Allowed {
					return n, r.RetryAfter
				}
				n++
			}
		}
		drain(p)
		admitted := 0
		for range periods {
			s.Advance(t, time.Minute)
			n, _ := drain(p)
			admitted += n
		}
		if admitted != 7*periods {
			t.Errorf("%d admitted at the ends of %d minutes, want %d", admitted, periods, 7*periods)
		}
		_, retry := drain(greedy)
		end := s.Now().Add(time.Duration(periods) * time.Minute)
		admitted = 0
		for !s.Now().Add(retry).After(end) {
			s.Advance(t, retry)
			var n int
			n, retry = drain(greedy)
			admitted += n
		}
		if admitted != 7*periods {
			t.Errorf("%d admitted at their retry_after in %d minutes, want %d", admitted, periods, 7*periods)
		}
	})
}

func TestGCRAPeek_returnsWhatACallWould(t *testing.T) {
	type result = ratelimit.GCRAPeekResult
	peek := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return luatest.Call((*ratelimit.Client).GCRAPeek, ratelimit.GCRAPeekParams{Subject: "u1", Limit: 10, Period: 10 * time.Second, Cost: cost(n)})
	}
	take := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return gcra(gcraParams{Subject: "u1", Limit: 10, Period: 10 * time.Second, Cost: cost(n)})
	}
	limiters.Run(
		t,
		step{Name: "first use", Call: peek(1), Want: result{Allowed: true, Remaining: 10}},
		step{Name: "exactly the limit", Call: peek(10), Want: result{Allowed: true, Remaining: 10}},
		step{Name: "cost 0", Call: peek(0), Want: result{Allowed: true, Remaining: 10}},
		step{Call: take(7), Writes: true, Want: gcraResult{Allowed: true, Remaining: 3, ResetAfter: 7 * time.Second}},
		step{Call: peek(3), Want: result{Allowed: true, Remaining: 3, ResetAfter: 7 * time.Second}},
		step{Name: "one more", Call: peek(4), Want: result{Remaining: 3, RetryAfter: time.Second, ResetAfter: 7 * time.Second}},
		step{Name: "one tick sooner", Advance: time.Second - time.Millisecond, Call: peek(4), Want: result{Remaining: 3, RetryAfter: time.Millisecond, ResetAfter: 6*time.Second + time.Millisecond}},
		step{Name: "at retry_after", Advance: time.Millisecond, Call: peek(4), Want: result{Allowed: true, Remaining: 4, ResetAfter: 6 * time.Second}},
		step{Name: "clock backwards", Advance: -time.Second, Call: peek(4), Want: result{Remaining: 3, RetryAfter: time.Second, ResetAfter: 7 * time.Second}},
		step{Name: "clock far back", Advance: -day, Call: peek(10), Want: result{Allowed: true, Remaining: 10}},
	)
}

// Whatever was taken before: at retry_after the same cost passes, one tick sooner it does not.
func TestGCRA_retryAfterIsExact(t *testing.T) {
	for _, p := range []gcraParams{
		{Limit: 10, Period: 10 * time.Second},
		{Limit: 10, Period: 9990 * time.Microsecond},
		{Limit: 7, Period: time.Minute},
		{Limit: 7, Period: time.Minute, Burst: 3},
		{Limit: 999_983, Period: time.Second, Burst: 5},
		{Limit: 3, Period: 10 * time.Microsecond, Burst: 100},
		{Limit: 999_999, Period: 3650 * day, Burst: 10},
	} {
		p.Subject = "u1"
		burst := max(p.Burst, 1)
		if p.Burst == 0 {
			burst = p.Limit
		}
		tick := time.Microsecond
		if p.Period%(time.Duration(p.Limit)*time.Millisecond) == 0 {
			tick = time.Millisecond
		}
		limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
			p := p
			for i := range int64(40) {
				p.Cost = cost(1 + i*7919%burst)
				r, err := c.GCRA(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				if r.Allowed {
					continue
				}
				s.Advance(t, r.RetryAfter-tick)
				if sooner, err := c.GCRA(t.Context(), p); err != nil || sooner.Allowed || sooner.RetryAfter != tick {
					t.Fatalf("%+v, cost %d: one tick before retry_after %s: %+v %v", p, *p.Cost, r.RetryAfter, sooner, err)
				}
				s.Advance(t, tick)
				if then, err := c.GCRA(t.Context(), p); err != nil || !then.Allowed {
					t.Fatalf("%+v, cost %d: at retry_after %s: %+v %v", p, *p.Cost, r.RetryAfter, then, err)
				}
				s.Advance(t, time.Duration(i%3)*p.Period/time.Duration(p.Limit)/2)
			}
		})
	}
}
