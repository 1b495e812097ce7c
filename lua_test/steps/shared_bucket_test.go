package steps_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// A taker is one caller of a bucket: whether a request of it is admitted now.
type taker func(limit int64, window time.Duration) bool

// sharedBuckets runs a test for each way to decide by a kind, always on one subject.
func sharedBuckets(t *testing.T, test func(t *testing.T, s *luatest.Server, take taker)) {
	t.Helper()
	for name, call := range map[string]func(*testing.T, *ratelimit.Client) taker{
		"sliding_log": func(t *testing.T, c *ratelimit.Client) taker {
			return func(limit int64, window time.Duration) bool {
				r, err := c.SlidingLog(t.Context(), logParams{Subject: "u1", Limit: limit, Window: window})
				return passed(t, r.Allowed, err)
			}
		},
		"fixed_window": func(t *testing.T, c *ratelimit.Client) taker {
			return func(limit int64, window time.Duration) bool {
				r, err := c.FixedWindow(t.Context(), windowParams{Subject: "u1", Limit: limit, Window: window})
				return passed(t, r.Allowed, err)
			}
		},
		"gcra": func(t *testing.T, c *ratelimit.Client) taker {
			return func(limit int64, window time.Duration) bool {
				r, err := c.GCRA(t.Context(), gcraParams{Subject: "u1", Limit: limit, Period: window})
				return passed(t, r.Allowed, err)
			}
		},
		"check of sliding_log":     checkTaker(ratelimit.LimitKindSlidingLog),
		"check of sliding_counter": checkTaker(ratelimit.LimitKindSlidingCounter),
		"check of fixed_window":    checkTaker(ratelimit.LimitKindFixedWindow),
		"check of gcra":            checkTaker(ratelimit.LimitKindGCRA),
	} {
		t.Run(name, func(t *testing.T) {
			limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) { test(t, s, call(t, c)) })
		})
	}
	for _, kind := range []guard.LimitKind{guard.LimitKindSlidingLog, guard.LimitKindFixedWindow} {
		t.Run("admit of "+string(kind), func(t *testing.T) {
			suites.Guards.Each(t, func(t *testing.T, s *luatest.Server, c guarded) {
				test(t, s, func(limit int64, window time.Duration) bool {
					r, err := c.Guard.Admit(t.Context(), admitParams{Subject: "u1", Limits: []admitLimit{{Name: "a", Kind: kind, Limit: limit, Window: window}}}.Packed())
					return passed(t, r.Allowed, err)
				})
			})
		})
	}
}

func checkTaker(kind ratelimit.LimitKind) func(*testing.T, *ratelimit.Client) taker {
	return func(t *testing.T, c *ratelimit.Client) taker {
		return func(limit int64, window time.Duration) bool {
			r, err := c.Check(t.Context(), checkParams{Subject: "u1", Limits: []checkLimit{{Name: "a", Kind: kind, Limit: limit, Window: window}}}.Packed())
			return passed(t, r.Allowed, err)
		}
	}
}

// Two generations of a service during a rollout: the caller with the lower limit counts what the other took.
func TestSharedBucket_eachCallerIsHeldToItsOwnLimit(t *testing.T) {
	sharedBuckets(t, func(t *testing.T, _ *luatest.Server, take taker) {
		for i, change := range []struct {
			limit int64
			pass  int
		}{{10, 10}, {15, 5}, {5, 0}, {20, 5}} {
			pass := 0
			for pass <= change.pass && take(change.limit, time.Minute) {
				pass++
			}
			if pass != change.pass {
				t.Errorf("%d: a limit of %d lets %d pass, want %d", i, change.limit, pass, change.pass)
			}
		}
	})
}

// Another window is another count.
func TestSharedBucket_windowsAreApart(t *testing.T) {
	sharedBuckets(t, func(t *testing.T, _ *luatest.Server, take taker) {
		if !take(1, time.Minute) || !take(1, time.Hour) || take(1, time.Minute) || take(1, time.Hour) {
			t.Error("a minute and an hour share a count")
		}
	})
}

// A single function and a row of the same kind, window and name are one limit.
func TestSharedBucket_ofFunctionAndCheck(t *testing.T) {
	limiters.Each(t, func(t *testing.T, _ *luatest.Server, c *ratelimit.Client) {
		for _, name := range []string{"", "login"} {
			calls := map[ratelimit.LimitKind]func() (bool, error){
				ratelimit.LimitKindSlidingLog: func() (bool, error) {
					r, err := c.SlidingLog(t.Context(), logParams{Subject: "u1", Name: name, Limit: 1, Window: time.Hour})
					return r.Allowed, err
				},
				ratelimit.LimitKindSlidingCounter: func() (bool, error) {
					r, err := c.SlidingCounter(t.Context(), counterParams{Subject: "u1", Name: name, Limit: 1, Window: time.Hour})
					return r.Allowed, err
				},
				ratelimit.LimitKindFixedWindow: func() (bool, error) {
					r, err := c.FixedWindow(t.Context(), windowParams{Subject: "u1", Name: name, Limit: 1, Window: time.Hour})
					return r.Allowed, err
				},
				ratelimit.LimitKindGCRA: func() (bool, error) {
					r, err := c.GCRA(t.Context(), gcraParams{Subject: "u1", Name: name, Limit: 1, Period: time.Hour})
					return r.Allowed, err
				},
			}
			for kind, call := range calls {
				limit := checkLimit{Name: name, Kind: kind, Limit: 1, Window: time.Hour}
				r, err := c.Check(t.Context(), checkParams{Subject: "u1", Limits: []checkLimit{limit}}.Packed())
				if one := passed(t, r.Allowed, err); !one {
					t.Errorf("%s %q: the first is refused", kind, name)
				}
				allowed, err := call()
				if passed(t, allowed, err) {
					t.Errorf("%s %q: the function does not see what check charged", kind, name)
				}
			}
		}
	})
}

// After a long idle time no call has to clean up all of it.
func TestSlidingLog_cleanUpIsBounded(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		name := key("u1", "sliding_log:3600000000")
		push := func(n int, from time.Duration) {
			all := []any{"RPUSH", name}
			for i := range n {
				all = append(all, s.Now().Add(from).UnixMicro()+int64(i))
			}
			s.Do(t, all...)
		}
		left := func(want int64, count int64) {
			t.Helper()
			r, err := c.SlidingLog(t.Context(), logParams{Subject: "u1", Limit: 1_000_000, Window: time.Hour})
			if n := s.Redis.LLen(t.Context(), name).Val(); err != nil || r.Count != count || n != want {
				t.Errorf("%+v, %v, %d entries: want a count of %d and %d entries", r, err, n, count, want)
			}
		}
		push(250, -2*time.Hour)
		push(3, -time.Minute)
		left(154, 4) // a hundred a call
		left(55, 5)
		left(6, 6)
		left(7, 7)
		s.Do(t, "DEL", name)
		push(25_000, -2*time.Hour)
		left(1, 1)
	})
}

func passed(t *testing.T, allowed bool, err error) bool {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return allowed
}
