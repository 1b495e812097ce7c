package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// A weight multiplies what a request costs, but a log counts requests.
func TestCheck_weight(t *testing.T) {
	limits := suites.CheckLimits(10)
	limits[2].Cost = cost(2)
	of := func(weight int64, limits ...checkLimit) func(context.Context, *ratelimit.Client) (any, error) {
		return checks(checkParams{Limits: limits, Weight: weight})
	}
	look := logLimit("a", 10, 10*time.Second)
	look.Cost = cost(0)
	limiters.Run(
		t,
		step{Call: of(3, limits...), Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{
			{Allowed: true, Remaining: 9, ResetAfter: 10 * time.Second},
			{Allowed: true, Remaining: 7, ResetAfter: 20 * time.Second},
			{Allowed: true, Remaining: 4, ResetAfter: 10 * time.Second},
			{Allowed: true, Remaining: 7, ResetAfter: 3 * time.Second},
		}}},
		step{Name: "what one refuses none takes", Call: of(3, limits...), Want: checkResult{Refused: 1, RetryAfter: 10 * time.Second, Limits: []checkRow{
			{Allowed: true, Remaining: 9, ResetAfter: 10 * time.Second},
			{Allowed: true, Remaining: 7, ResetAfter: 20 * time.Second},
			{Remaining: 4, RetryAfter: 10 * time.Second, ResetAfter: 10 * time.Second},
			{Allowed: true, Remaining: 7, ResetAfter: 3 * time.Second},
		}}},
		step{Name: "a peek weighs, too", Call: luatest.Call((*ratelimit.Client).CheckPeek, checkParams{Subject: "u1", Limits: limits[1:2], Weight: 8}.Peek()), Want: ratelimit.CheckPeekResult{
			Refused: 1, RetryAfter: 13_334 * time.Millisecond, Limits: []checkRow{{Remaining: 7, RetryAfter: 13_334 * time.Millisecond, ResetAfter: 20 * time.Second}},
		}},
		step{Name: "above a limit", Call: of(11, limits[1]), WantErr: fcall.ErrArgument},
		step{Name: "twice the cost is", Call: of(6, limits[2]), WantErr: fcall.ErrArgument},
		step{Name: "above the bounds", Call: of(1_000_001, limits[0]), WantErr: fcall.ErrArgument},
		step{Name: "nothing weighs nothing", Call: of(1_000_000, look), Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, Remaining: 9, ResetAfter: 10 * time.Second}}}},
	)
}

// A global limit counts repeats of a known receipt, and may refuse them.
func TestCheck_globalLimitsCountDuplicates(t *testing.T) {
	own, global := logLimit("own", 1, time.Hour), logLimit("all", 2, time.Minute)
	global.Global = true
	call := checks(checkParams{Limits: []checkLimit{own, global}, Of: []fcall.Subject{"u1", "global/all"}, Receipt: "r1"})
	all := key("global/all", "sliding_log:all")
	limiters.Run(
		t,
		step{Call: call, Writes: true, TTLs: ttls{key("u1", "sliding_log:own"): time.Hour, all: time.Minute, key("u1", "checked"): time.Hour}, Want: checkResult{Allowed: true, Limits: []checkRow{
			{Allowed: true, ResetAfter: time.Hour}, {Allowed: true, Remaining: 1, ResetAfter: time.Minute},
		}}},
		step{Name: "a repeat counts there alone", Call: call, Writes: true, Want: checkResult{Allowed: true, Duplicate: true, Limits: []checkRow{
			{Allowed: true, ResetAfter: time.Hour}, {Allowed: true, ResetAfter: time.Minute},
		}}},
		step{Name: "and is refused there", Call: call, Want: checkResult{Duplicate: true, Refused: 1, RetryAfter: time.Minute, Limits: []checkRow{
			{Allowed: true, ResetAfter: time.Hour}, {RetryAfter: time.Minute, ResetAfter: time.Minute},
		}}},
		step{Name: "at retry_after", Advance: time.Minute, Call: call, Writes: true, Want: checkResult{Allowed: true, Duplicate: true, Limits: []checkRow{
			{Allowed: true, ResetAfter: time.Hour - time.Minute}, {Allowed: true, Remaining: 1, ResetAfter: time.Minute},
		}}},
	)
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
		step{Call: checks(of("u2", "u3")), Writes: true, TTLs: ttls{key("u2", "sliding_log:a"): time.Minute, key("u3", "sliding_log:a"): time.Minute}, Want: checkResult{Allowed: true, Limits: []checkRow{one, one}}},
		step{Name: "the call's own", Call: checks(of("u1", "u2")), Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{one, {Allowed: true, ResetAfter: time.Minute}}}},
		step{Name: "one limit twice", Call: checks(of("u2", "u2")), WantErr: fcall.ErrArgument},
		step{Name: "a subject too few", Call: checks(of("u2")), WantErr: fcall.ErrArgument},
		step{Call: luatest.Call((*ratelimit.Client).CheckReset, of("u2", "u4").Reset()), Writes: true, Want: ratelimit.CheckResetResult{Existed: true}, TTLs: ttls{
			key("u1", "sliding_log:a"): time.Minute, key("u3", "sliding_log:a"): time.Minute,
		}},
	)
}

// A shadow limit is reported, charged where it allows, and never refuses.
func TestCheck_shadowRefusesNothing(t *testing.T) {
	limits := []checkLimit{logLimit("live", 2, time.Minute), logLimit("shadow", 1, time.Minute)}
	limits[1].Shadow = true
	over := checkRow{RetryAfter: time.Minute, ResetAfter: time.Minute}
	limiters.Run(
		t,
		step{Call: check(limits...), Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, Remaining: 1, ResetAfter: time.Minute}, {Allowed: true, ResetAfter: time.Minute}}}},
		step{Call: check(limits...), Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, ResetAfter: time.Minute}, over}}},
		step{Name: "only the live one counts", Call: check(limits...), Want: checkResult{Refused: 1, RetryAfter: time.Minute, Limits: []checkRow{over, over}}},
	)
}
