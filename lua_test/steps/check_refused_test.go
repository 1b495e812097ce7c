package steps_test

import (
	"errors"
	"fmt"
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

func TestCheck_rowsAreBoundedByTheServerToo(t *testing.T) {
	var sixteen, seventeen string
	for i := range 17 {
		sixteen = seventeen
		seventeen += fmt.Sprintf("a%d,gcra,5,1000000;", i)
	}
	limiters.Each(t, func(t *testing.T, s *luatest.Server, _ *ratelimit.Client) {
		call := func(keys int, limits string) string {
			words := []any{"FCALL", "ratelimit_v1_check", keys + 1, key("u1", "checked")}
			for i := range keys {
				words = append(words, key("u1", fmt.Sprint("row", i)))
			}
			err := s.Redis.Do(t.Context(), append(words, limits)...).Err()
			if err == nil {
				return ""
			}
			return err.Error()
		}
		for _, c := range []struct {
			keys   int
			limits string
			want   string
		}{
			{0, "", "RLARG limits must have 1 to 16 rows"},
			{17, seventeen, "RLARG limits must have 1 to 16 rows"},
			{2, "a,gcra,5,1000000;", "RLARG check must be called with as many keys and arguments as its groups have rows"},
			{0, "a,gcra,5,1000000;", "RLARG check must be called with as many keys and arguments as its groups have rows"},
			{1, "a,gcra,5;", "RLARG limits.0 must have 4 to 11 cells, and has 3"},
			{1, "a,gcra,5,1000000,,,,,,,,;", "RLARG limits.0 must have 4 to 11 cells, and has 12"},
			{1, ",gcra,5,1000000;", "RLARG limits.0.name must be 1 to 64 bytes"},
			{1, "a b,gcra,5,1000000;", "RLARG limits.0.name must be 1 to 64 bytes"},
			{1, "a,GCRA,5,1000000;", "RLARG limits.0.kind must be one of sliding_log, sliding_counter, fixed_window, gcra, quota, concurrency"},
			{1, "a,gcra,1e3,1000000;", "RLARG limits.0.limit must be a whole number from 1 to 16777216"},
			{1, "a,gcra,5,nan;", "RLARG limits.0.window must be from 1 to 315360000000000 microseconds"},
			{1, "a,gcra,5,1000000,0;", "RLARG limits.0.burst must be a whole number from 1 to 1000000"},
			{1, "a,gcra,5,1000000,,-0;", "RLARG limits.0.cost must be a whole number from 0 to 1000000"},
			{1, "a,gcra,5,1000000,,6;", "RLARG limits.0.cost must be at most limit: it can never be allowed"},
			{1, "a,gcra,5,1000000,2,3;", "RLARG limits.0.cost must be at most limit: it can never be allowed"},
			{1, "a,fixed_window,5,1000000,,6;", "RLARG limits.0.cost must be at most limit: it can never be allowed"},
			{1, "a,sliding_counter,5,1000000,,6;", "RLARG limits.0.cost must be at most limit: it can never be allowed"},
			{1, "a,sliding_counter,5,7776000000001;", "RLARG limits.0.window must be at most 90d if kind is sliding_counter"},
			{1, "a,sliding_log,5,1000000,,2;", "RLARG limits.0.cost must be at most 1 if kind is sliding_log: it counts requests"},
			{1, "a,gcra,1,315360000000000,11;", "RLARG limits.0.burst * window must be at most limit * 36500d: a bucket must fill within 100 years"},
			{1, "a,fixed_window,1000001,1000000;", "RLARG limits.0.limit must be at most 1000000 unless kind is quota"},
			{1, "a,concurrency,5,1000000;", "RLARG limits.0.kind must not be concurrency: it needs a holder"},
			{1, "a,concurrency,5,999;", "RLARG limits.0.window must be at least 1ms if kind is concurrency: it is the lease"},
			{1, "a,quota,5,1000000;", "RLARG limits.0.previous, start and after must be given if kind is quota"},
			{1, "a,gcra,5,1000000,,,,,,7;", "RLARG limits.0.previous, start and after must be omitted unless kind is quota"},
			{1, "a,quota,5,1000000,,,,,7,7,9000000;", "RLARG limits.0.previous must be below start"},
			{1, "a,quota,5,1000000,,,,,6,7,1000007;", "RLARG limits.0.start + window must be below after"},
			{1, "a,quota,5,1000000,,,,,6,7,315360000000007;", "RLARG limits.0.after must be at most previous + 3650d"},
			{1, "a,gcra,5,1000000,,,2;", "RLARG limits.0.shadow must be 1 or 0"},
			{1, "a,gcra,5,1000000,,,,yes;", "RLARG limits.0.global must be 1 or 0"},
			{2, "a,gcra,5,1000000;b,sliding_log,5,1000000,5;", "RLARG limits.1.burst must be omitted unless kind is gcra"},
			{1, "a,gcra,5,1000000,5,0;", ""},
			{1, "a%2f,gcra,5,1000000,5,0,0,0;", ""},
			{1, "a,gcra,5,1000000,,0,,;", ""},
		} {
			if got := call(c.keys, c.limits); got != c.want {
				t.Errorf("%q and %d keys: %q, want %q", c.limits, c.keys, got, c.want)
			}
		}
		if keys, err := s.Snapshot(t.Context()); err != nil || len(keys) > 0 {
			t.Errorf("refused arguments wrote %v %v", keys, err)
		}
		if got := call(16, sixteen); got != "" {
			t.Errorf("16 rows: %s", got)
		}
	})
}
