package steps_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

func TestCheck_argumentsThatContradictEachOther(t *testing.T) {
	bad := map[string][]checkLimit{
		"limits must differ in kind or name: two rows would be one limit":                                                      {logLimit("a", 1, time.Second), logLimit("b", 1, time.Second), logLimit("a", 2, time.Minute)},
		"limit.1.cost must be at most 1 if kind is sliding_log: it counts requests":                                            {logLimit("a", 5, time.Second), {Name: "b", Kind: ratelimit.LimitKindSlidingLog, Limit: 5, Window: time.Second, Cost: cost(2)}},
		"limits.0.cost * weight must be at most limit unless kind is sliding_log, or burst or shadow: it can never be allowed": {{Name: "b", Kind: ratelimit.LimitKindFixedWindow, Limit: 5, Window: time.Second, Cost: cost(6)}},
		"limits.0.cost * weight must be at most burst unless shadow: it can never be allowed":                                  {{Name: "b", Kind: ratelimit.LimitKindGCRA, Limit: 5, Window: time.Second, Burst: 2, Cost: cost(3)}},
		"limit.0.burst must be omitted unless kind is gcra":                                                                    {{Name: "b", Kind: ratelimit.LimitKindSlidingCounter, Limit: 5, Window: time.Second, Burst: 2}},
		"limit.0.window must be at most 90d if kind is sliding_counter":                                                        {{Name: "b", Kind: ratelimit.LimitKindSlidingCounter, Limit: 5, Window: 90*day + 1}},
		"limit.0.burst * window must be at most limit * 36500d: a bucket must fill within 100 years":                           {{Name: "b", Kind: ratelimit.LimitKindGCRA, Limit: 1, Window: 3650 * day, Burst: 11}},
	}
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		for want, limits := range bad {
			pack, err := ratelimit.PackLimit(limits...)
			if err == nil {
				_, err = c.Check(t.Context(), ratelimit.CheckParams{Subject: "u1", Limits: pack})
			}
			if !errors.Is(err, fcall.ErrArgument) || !strings.Contains(err.Error(), want) {
				t.Errorf("error is %v, want %s", err, want)
			}
		}
		if keys, err := s.Snapshot(t.Context()); err != nil || len(keys) > 0 {
			t.Errorf("refused arguments wrote %v %v", keys, err)
		}
	})
}

// An error behind a write leaves the write: the last row's key must be found unreadable before the first is charged.
func TestCheck_unreadableStateNamesTheRowsKeyAndChargesNone(t *testing.T) {
	limits := suites.CheckLimits(5)
	suffixes := []string{"sliding_log:a", "sliding_counter:a", "fixed_window:a", "gcra:a"}
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		check := func(name, problem string) {
			t.Helper()
			before, err := s.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range []func() error{
				func() error {
					_, err := c.Check(t.Context(), checkParams{Subject: "u1", Limits: limits, Receipt: "r1"}.Packed())
					return err
				},
				func() error {
					_, err := c.CheckPeek(t.Context(), checkParams{Subject: "u1", Limits: limits, Receipt: "r1"}.Peek())
					return err
				},
			} {
				err := call()
				var state *fcall.StateError
				if !errors.As(err, &state) || state.Key != name || !strings.Contains(state.Problem, problem) {
					t.Errorf("%s: %v, want %s", name, err, problem)
				}
			}
			if after, err := s.Snapshot(t.Context()); err != nil || len(after) != len(before) {
				t.Errorf("%s: a call that could not read wrote: %v %v", name, after, err)
			}
			s.Do(t, "DEL", name)
		}
		for i, suffix := range suffixes {
			name, wanted := key("u1", suffix), "string"
			if i == 0 {
				wanted = "list"
			}
			wrongType(name)(t, s)
			check(name, "holds a set, not a "+wanted)
			if i > 0 {
				s.Do(t, "SET", name, "x", "EX", 1000)
				check(name, "holds no ")
			}
		}
		wrongType(key("u1", "checked"))(t, s)
		check(key("u1", "checked"), "holds a set, not a zset")
	})
}
