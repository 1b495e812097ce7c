package steps_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type (
	checkLimit  = ratelimit.Limit
	checkResult = ratelimit.CheckResult
	checkRow    = ratelimit.LimitResult
)

// checkParams are a call of check, with rows that are not packed yet.
type checkParams = suites.CheckParams

func check(limits ...checkLimit) func(context.Context, *ratelimit.Client) (any, error) {
	return checks(checkParams{Limits: limits})
}

func checkReceipt(receipt string, dedup time.Duration, limits ...checkLimit) func(context.Context, *ratelimit.Client) (any, error) {
	return checks(checkParams{Limits: limits, Receipt: receipt, Dedup: dedup})
}

// checks is a call of u1.
func checks(p checkParams) func(context.Context, *ratelimit.Client) (any, error) {
	p.Subject = "u1"
	return func(ctx context.Context, c *ratelimit.Client) (any, error) {
		r, err := c.Check(ctx, p.Packed())
		r.At = time.Time{}
		return r, err
	}
}

func logLimit(name string, limit int64, window time.Duration) checkLimit {
	return checkLimit{Name: name, Kind: ratelimit.LimitKindSlidingLog, Limit: limit, Window: window}
}

func TestCheck_looks(t *testing.T) {
	limits := []checkLimit{logLimit("a", 2, 10*time.Second), {Name: "a", Kind: ratelimit.LimitKindGCRA, Limit: 2, Window: 10 * time.Second}}
	look := func(receipt string) func(context.Context, *ratelimit.Client) (any, error) {
		return checks(checkParams{Limits: limits, Receipt: receipt, Look: true})
	}
	limiters.Run(
		t,
		step{Name: "first use", Call: look(""), Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, Remaining: 2}, {Allowed: true, Remaining: 2}}}},
		step{Call: checkReceipt("r1", 0, limits...), Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, Remaining: 1, ResetAfter: 10 * time.Second}, {Allowed: true, Remaining: 1, ResetAfter: 5 * time.Second}}}},
		step{Call: check(limits...), Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, ResetAfter: 10 * time.Second}, {Allowed: true, ResetAfter: 10 * time.Second}}}},
		step{Name: "full", Call: look("r2"), Want: checkResult{Refused: 2, RetryAfter: 10 * time.Second, Limits: []checkRow{{RetryAfter: 10 * time.Second, ResetAfter: 10 * time.Second}, {RetryAfter: 5 * time.Second, ResetAfter: 10 * time.Second}}}},
		step{Name: "a known receipt", Call: look("r1"), Want: checkResult{Allowed: true, Duplicate: true, Limits: []checkRow{{Allowed: true, ResetAfter: 10 * time.Second}, {Allowed: true, ResetAfter: 10 * time.Second}}}},
	)
}

func TestCheck_argumentsThatContradictEachOther(t *testing.T) {
	bad := map[string][]checkLimit{
		"limits must differ in kind, window or name: two rows would be one limit":                                 {logLimit("a", 1, time.Second), logLimit("b", 1, time.Second), logLimit("a", 2, time.Second)},
		"limits.1 must satisfy cost <= 1 or kind ~= 'sliding_log': it counts requests":                            {logLimit("a", 5, time.Second), {Name: "b", Kind: ratelimit.LimitKindSlidingLog, Limit: 5, Window: time.Second, Cost: cost(2)}},
		"limits.0.cost must be at most limit: it can never be allowed":                                            {{Name: "b", Kind: ratelimit.LimitKindFixedWindow, Limit: 5, Window: time.Second, Cost: cost(6)}},
		"0.cost must be at most limit: it can never be allowed":                                                   {{Name: "b", Kind: ratelimit.LimitKindGCRA, Limit: 5, Window: time.Second, Burst: 2, Cost: cost(3)}},
		"limits.0 must satisfy burst == nil or kind == 'gcra': only a gcra has a burst":                           {{Name: "b", Kind: ratelimit.LimitKindSlidingCounter, Limit: 5, Window: time.Second, Burst: 2}},
		"limits.0 must satisfy burst == nil or burst * window_us <= limit * 3153600000000000: a bucket must fill": {{Name: "b", Kind: ratelimit.LimitKindGCRA, Limit: 1, Window: 3650 * day, Burst: 11}},
	}
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		for want, limits := range bad {
			_, err := c.Check(t.Context(), ratelimit.CheckParams{Subject: "u1", Limits: ratelimit.PackLimit(limits...)})
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
	suffixes := []string{"sliding_log:10000000:a", "sliding_counter:10000000:a", "fixed_window:10000000:a", "gcra:10000000:a"}
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
					_, err := c.Check(t.Context(), checkParams{Subject: "u1", Limits: limits, Receipt: "r1", Look: true}.Packed())
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
		wrongType(key("u1", "receipt:r1"))(t, s)
		check(key("u1", "receipt:r1"), "holds a set, not a string")
	})
}

// Rows of one kind and name are two limits where their subjects differ, and one where they do not.
func TestCheck_limitsOfSeveralSubjects(t *testing.T) {
	limit := logLimit("a", 2, time.Minute)
	of := func(subjects ...fcall.Subject) checkParams {
		return checkParams{Subject: "u1", Limits: []checkLimit{limit, limit}, Of: subjects}
	}
	one := checkRow{Allowed: true, Remaining: 1, ResetAfter: time.Minute}
	limiters.Run(
		t,
		step{Call: checks(of("u2", "u3")), Writes: true, TTLs: ttls{key("u2", "sliding_log:60000000:a"): time.Minute, key("u3", "sliding_log:60000000:a"): time.Minute}, Want: checkResult{Allowed: true, Limits: []checkRow{one, one}}},
		step{Name: "the call's own", Call: checks(of("u1", "u2")), Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{one, {Allowed: true, ResetAfter: time.Minute}}}},
		step{Name: "one limit twice", Call: checks(of("u2", "u2")), WantErr: fcall.ErrArgument},
		step{Call: luatest.Call((*ratelimit.Client).Reset, of("u2", "u4").Reset()), Writes: true, Want: ratelimit.ResetResult{Existed: true}, TTLs: ttls{
			key("u1", "sliding_log:60000000:a"): time.Minute, key("u3", "sliding_log:60000000:a"): time.Minute,
		}},
	)
}
