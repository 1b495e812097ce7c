package steps_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// atOnce makes n calls at the same time, each on its own goroutine, and counts the true answers.
func atOnce(t *testing.T, n int, call func(ctx context.Context, i int) (bool, error)) (yes int) {
	t.Helper()
	answers := make([]bool, n)
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-begin
			var err error
			if answers[i], err = call(t.Context(), i); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	wg.Wait()
	for _, a := range answers {
		if a {
			yes++
		}
	}
	return yes
}

// limiterKinds are an hourly limit, by each function and representation. A used-up one has its full capacity two hours later.
var limiterKinds = []struct {
	name string
	call func(c *ratelimit.Client, limit int64) func(context.Context, int) (bool, error)
}{
	{"sliding_log", func(c *ratelimit.Client, limit int64) func(context.Context, int) (bool, error) {
		return func(ctx context.Context, _ int) (bool, error) {
			r, err := c.SlidingLog(ctx, logParams{Subject: "u1", Limit: limit, Window: time.Hour})
			return r.Allowed, err
		}
	}},
	{"sliding_log with receipts", func(c *ratelimit.Client, limit int64) func(context.Context, int) (bool, error) {
		return func(ctx context.Context, i int) (bool, error) {
			r, err := c.SlidingLog(ctx, logParams{Subject: "u2", Limit: limit, Window: time.Hour, Receipt: fmt.Sprint("r", i)})
			return r.Allowed && !r.Duplicate, err
		}
	}},
	{"gcra by expiry", func(c *ratelimit.Client, limit int64) func(context.Context, int) (bool, error) {
		return func(ctx context.Context, _ int) (bool, error) {
			r, err := c.GCRA(ctx, gcraParams{Subject: "u1", Limit: limit, Period: time.Hour})
			return r.Allowed, err
		}
	}},
	{"gcra by value", func(c *ratelimit.Client, limit int64) func(context.Context, int) (bool, error) {
		return func(ctx context.Context, _ int) (bool, error) {
			r, err := c.GCRA(ctx, gcraParams{Subject: "u2", Limit: limit, Period: time.Hour + time.Microsecond})
			return r.Allowed, err
		}
	}},
	{"sliding_counter", func(c *ratelimit.Client, limit int64) func(context.Context, int) (bool, error) {
		return func(ctx context.Context, _ int) (bool, error) {
			r, err := c.SlidingCounter(ctx, counterParams{Subject: "u1", Limit: limit, Window: time.Hour})
			return r.Allowed, err
		}
	}},
	{"fixed_window", func(c *ratelimit.Client, limit int64) func(context.Context, int) (bool, error) {
		return func(ctx context.Context, _ int) (bool, error) {
			r, err := c.FixedWindow(ctx, windowParams{Subject: "u1", Limit: limit, Window: time.Hour})
			return r.Allowed, err
		}
	}},
	{"check of every kind", func(c *ratelimit.Client, limit int64) func(context.Context, int) (bool, error) {
		limits := suites.CheckLimits(limit)
		for i := range limits {
			limits[i].Window = time.Hour
		}
		return func(ctx context.Context, i int) (bool, error) {
			r, err := c.Check(ctx, checkParams{Subject: "u1", Limits: limits, Receipt: fmt.Sprint("r", i)}.Packed())
			return r.Allowed && !r.Duplicate, err
		}
	}},
}

// Ten within a window, and one more at its end: the one more passes when the first of the ten has left, not when a new
// minute begins.
func TestScenario_boundaryTenThenOne(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		take := func() (bool, time.Duration) {
			t.Helper()
			r, err := c.SlidingLog(t.Context(), logParams{Subject: "u1", Limit: 10, Window: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			return r.Allowed, r.RetryAfter
		}
		s.Set(t, luatest.Start.Truncate(time.Minute).Add(59*time.Second))
		for i := range 10 {
			if ok, _ := take(); !ok {
				t.Fatalf("call %d of 10 is refused", i+1)
			}
		}
		s.Advance(t, 2*time.Second) // into the next minute
		if ok, wait := take(); ok || wait != 58*time.Second {
			t.Errorf("the eleventh: %v, wait %s; want refused, 58s", ok, wait)
		}
		s.Advance(t, 58*time.Second)
		if ok, _ := take(); !ok {
			t.Error("the eleventh is refused when the first ten have left")
		}
	})
}

// The reply was lost, and the request is sent again: also when the window has filled meanwhile.
func TestScenario_networkRetryCostsOne(t *testing.T) {
	limiters.Run(
		t,
		step{Call: slidingLog(receipt(2, "request-1")), Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Advance: time.Second, Call: slidingLog(receipt(2, "request-2")), Writes: true, Want: logResult{Allowed: true, Count: 2, ResetAfter: 10 * time.Second}},
		step{Name: "the retry", Call: slidingLog(receipt(2, "request-1")), Want: logResult{Allowed: true, Duplicate: true, Count: 2, ResetAfter: 10 * time.Second}},
		step{Name: "a new request", Call: slidingLog(receipt(2, "request-3")), Want: logResult{Count: 2, RetryAfter: 9 * time.Second, ResetAfter: 10 * time.Second}},
	)
}

func TestScenario_differentReceiptsCountApart(t *testing.T) {
	var steps []step
	for i := range int64(3) {
		steps = append(steps, step{
			Call: slidingLog(receipt(3, fmt.Sprintf("fp:challenge-%d:user", i))), Writes: true,
			Want: logResult{Allowed: true, Count: i + 1, Remaining: 2 - i, ResetAfter: 10 * time.Second},
		})
	}
	limiters.Run(t, append(steps, step{Call: slidingLog(receipt(3, "fp:challenge-3:user")), Want: logResult{Count: 3, RetryAfter: 10 * time.Second, ResetAfter: 10 * time.Second}})...)
}

func TestScenario_withoutAFingerprintEachCallCounts(t *testing.T) {
	take := slidingLog(logParams{Subject: "203.0.113.7", Limit: 2, Window: time.Minute})
	limiters.Run(
		t,
		step{Call: take, Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: time.Minute}},
		step{Call: take, Writes: true, Want: logResult{Allowed: true, Count: 2, ResetAfter: time.Minute}},
		step{Call: take, Want: logResult{Count: 2, RetryAfter: time.Minute, ResetAfter: time.Minute}},
	)
}

func TestScenario_burstInOneMillisecondIsCountedOneByOne(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		for _, k := range limiterKinds {
			admitted := 0
			for i := range 20 {
				ok, err := k.call(c, 10)(t.Context(), i)
				if err != nil {
					t.Fatal(err)
				}
				if ok {
					admitted++
				}
			}
			if admitted != 10 {
				t.Errorf("%s admits %d of 20 within one microsecond, want 10", k.name, admitted)
			}
		}
	})
}

// A refused client is admitted again after some time, and nothing is kept of a subject without requests.
func TestScenario_expiryUnblocks(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		all := func() {
			t.Helper()
			for _, k := range limiterKinds {
				if ok, err := k.call(c, 1)(t.Context(), 1); err != nil || !ok {
					t.Errorf("%s: %v %v, want allowed", k.name, ok, err)
				}
			}
		}
		all()
		for _, k := range limiterKinds {
			if ok, err := k.call(c, 1)(t.Context(), 2); err != nil || ok {
				t.Errorf("%s: %v %v, want refused", k.name, ok, err)
			}
		}
		s.Advance(t, 2*time.Hour)
		all()
		s.Advance(t, 2*time.Hour+time.Millisecond)
		left, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(left) > 0 {
			t.Errorf("two hours after the last call there is still %v", left)
		}
	})
}

func TestScenario_IPv6AddressesAreWhole(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		for _, address := range []fcall.Subject{"2001:db8::1:7334", "2002:db9::2:7334", "::1", "::", "2001:db8::1"} {
			log, err := c.SlidingLog(t.Context(), logParams{Subject: address, Limit: 1, Window: time.Minute})
			if err != nil || !log.Allowed || log.Count != 1 {
				t.Errorf("sliding_log, the first call of %s: %+v %v", address, log, err)
			}
			tokens, err := c.GCRA(t.Context(), gcraParams{Subject: address, Limit: 1, Period: time.Minute})
			if err != nil || !tokens.Allowed {
				t.Errorf("gcra, the first call of %s: %+v %v", address, tokens, err)
			}
		}
	})
}
