package steps_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// TestConcurrency_exactlyTheLimitOfAnyNumberAtOnce also holds that one receipt is counted once, however many send it.
func TestConcurrency_exactlyTheLimitOfAnyNumberAtOnce(t *testing.T) {
	const callers, limit = 50, 10
	limiters.EachOnRealTime(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		log := logParams{Subject: "u1", Limit: limit, Window: time.Hour}
		same := logParams{Subject: "u2", Limit: limit, Window: time.Hour, Receipt: "click"}
		tokens := gcraParams{Subject: "u1", Limit: limit, Period: time.Hour}
		odd := gcraParams{Subject: "u2", Limit: limit, Period: time.Hour + time.Microsecond}
		admitted := func(call func() (bool, error)) int64 {
			var n atomic.Int64
			var wg sync.WaitGroup
			begin := make(chan struct{})
			for range callers {
				wg.Go(func() {
					<-begin
					allowed, err := call()
					if err != nil {
						t.Error(err)
					}
					if allowed {
						n.Add(1)
					}
				})
			}
			close(begin)
			wg.Wait()
			return n.Load()
		}
		if n := admitted(func() (bool, error) { r, err := c.SlidingLog(t.Context(), log); return r.Allowed, err }); n != limit {
			t.Errorf("sliding_log admitted %d of %d, want %d", n, callers, limit)
		}
		if n := admitted(func() (bool, error) {
			r, err := c.SlidingLog(t.Context(), same)
			return r.Allowed && !r.Duplicate, err
		}); n != 1 {
			t.Errorf("one receipt was counted %d times", n)
		}
		for _, p := range []gcraParams{tokens, odd} {
			if n := admitted(func() (bool, error) { r, err := c.GCRA(t.Context(), p); return r.Allowed, err }); n != limit {
				t.Errorf("gcra of %s admitted %d of %d, want %d", p.Period, n, callers, limit)
			}
		}
	})
}

// The library that ships, on the server's own clock: expiries are what the tables say, in real units.
func TestExpiry_ofTheLibraryThatShips(t *testing.T) {
	limiters.EachOnRealTime(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		must := func(_ any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		want := ttls{
			key("u1", "log"): time.Hour, key("u1", "receipts"): 2 * time.Hour,
			key("u1", "gcra"): 6 * time.Minute, key("u2", "gcra"): (time.Hour / 7).Truncate(time.Millisecond) + time.Millisecond,
		}
		s.CheckTTLs(t, want, func() {
			must(c.SlidingLog(t.Context(), logParams{Subject: "u1", Limit: 2, Window: time.Hour, Receipt: "r", Dedup: 2 * time.Hour}))
			must(c.GCRA(t.Context(), gcraParams{Subject: "u1", Limit: 10, Period: time.Hour}))
			must(c.GCRA(t.Context(), gcraParams{Subject: "u2", Limit: 7, Period: time.Hour}))
		})
	})
}
