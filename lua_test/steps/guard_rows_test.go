package steps_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// A weight multiplies a request's cost and its refund, but a log counts requests.
func TestAdmit_weight(t *testing.T) {
	limits := suites.GuardLimits(10)
	limits[2].Cost = cost(2)
	p := admitParams{Limits: limits, Weight: 3}
	rows := []admitRow{
		{Allowed: true, Remaining: 9, ResetAfter: 10 * time.Second},
		{Allowed: true, Remaining: 7, ResetAfter: 20 * time.Second},
		{Allowed: true, Remaining: 4, ResetAfter: 10 * time.Second},
		{Allowed: true, Remaining: 7, ResetAfter: 3 * time.Second},
	}
	over := admitParams{Limits: limits[:2], Weight: 11}
	back := suites.RefundParams{Limits: limits, Left: suites.TakenOf(rows), At: luatest.Start, Weight: 3}
	light := back
	light.Weight = 2
	left := []admitRow{
		{Allowed: true, Remaining: 9, ResetAfter: 10 * time.Second},
		{Allowed: true, Remaining: 6, ResetAfter: 20 * time.Second},
		{Allowed: true, Remaining: 2, ResetAfter: 10 * time.Second},
		{Allowed: true, Remaining: 6, ResetAfter: 4 * time.Second},
	}
	suites.Guards.Run(
		t,
		guardStep{Call: admit(p), Writes: true, Want: passes(rows...)},
		guardStep{Name: "above a limit", Call: admit(over), WantErr: fcall.ErrArgument},
		guardStep{Name: "as it was taken", Call: refund(back), Writes: true, Want: given, TTLs: ttls{guardKey("sliding_log:a"): 10 * time.Second}},
		guardStep{Call: admit(p), Writes: true, Want: passes(rows...)},
		guardStep{Name: "a lighter one gives back less", Call: refund(light), Writes: true, Want: given},
		guardStep{Call: admit(p), Writes: true, Want: passes(left...)},
	)
}

// A global limit counts repeats of a known receipt, may refuse them, and refunds them.
func TestAdmit_globalLimitsCountDuplicates(t *testing.T) {
	own, global := perLog("own", 1, time.Hour), perLog("all", 2, time.Minute)
	global.Global = true
	p := admitParams{Receipt: "r", Dedup: time.Hour, Limits: []admitLimit{own, global}, Of: []fcall.Subject{"u1", "global/all"}}
	all := "guard:{global/all}:sliding_log:all"
	known := passes(admitRow{Allowed: true, ResetAfter: time.Hour}, admitRow{Allowed: true, ResetAfter: time.Minute})
	known.Duplicate = true
	refused := stops(time.Minute, admitRow{Allowed: true, ResetAfter: time.Hour}, admitRow{RetryAfter: time.Minute, ResetAfter: time.Minute})
	refused.Duplicate = true
	later := passesAt(time.Minute, admitRow{Allowed: true, ResetAfter: time.Hour - time.Minute}, admitRow{Allowed: true, Remaining: 1, ResetAfter: time.Minute})
	later.Duplicate = true
	suites.Guards.Run(
		t,
		guardStep{Call: admit(p), Writes: true, TTLs: ttls{guardKey("sliding_log:own"): time.Hour, all: time.Minute, guardKey("checked"): time.Hour}, Want: passes(
			admitRow{Allowed: true, ResetAfter: time.Hour}, admitRow{Allowed: true, Remaining: 1, ResetAfter: time.Minute},
		)},
		guardStep{Name: "a repeat counts there alone", Call: admit(p), Writes: true, Want: known},
		guardStep{Name: "and is refused there", Call: admit(p), Want: refused},
		guardStep{Name: "at retry_after", Advance: time.Minute, Call: admit(p), Writes: true, Want: later},
	)
}

// A refusal by a global limit does not count as an attempt where other refusals do.
func TestAdmit_globalRefusalsAreNoAttempts(t *testing.T) {
	own, global := perLog("own", 1, time.Minute), perLog("all", 1, time.Minute)
	global.Global = true
	with := func(limits ...admitLimit) admitParams {
		return admitParams{Limits: limits, CountRefused: true, Tiers: []guard.AdmitTiers{{Threshold: 2, Window: time.Hour, Block: time.Minute}}}
	}
	free, full := admitRow{Allowed: true, ResetAfter: time.Minute}, admitRow{RetryAfter: time.Minute, ResetAfter: time.Minute}
	first := passes(free)
	first.Tiers = []admitTier{{Remaining: 1}}
	refused := func(attempts int64, rows ...admitRow) admitResult {
		r := stops(time.Minute, rows...)
		r.Tiers = []admitTier{{Count: attempts, Remaining: 1 - attempts}}
		return r
	}
	suites.Guards.Run(
		t,
		guardStep{Call: admit(with(global)), Writes: true, Want: first},
		guardStep{Name: "the client may not be to blame", Call: admit(with(global)), Want: refused(0, full)},
		guardStep{Name: "its own limit is not charged", Call: admit(with(own, global)), Want: refused(0, admitRow{Allowed: true, Remaining: 1}, full)},
		guardStep{Call: admit(with(own)), Writes: true, Want: first},
		guardStep{Name: "its own limit refuses, too", Call: admit(with(own, global)), Writes: true, Want: refused(1, full, full)},
	)
}

// At is when a call was decided, and zero where nothing took the clock.
func TestAdmit_atIsZeroWhereNoLimitNeedsTheClock(t *testing.T) {
	limits := suites.GuardLimits(5)[1:]
	uneven := admitLimit{Name: "a", Kind: guard.LimitKindGCRA, Limit: 7, Window: time.Second}
	rows := []admitRow{
		{Allowed: true, Remaining: 4, ResetAfter: 20 * time.Second},
		{Allowed: true, Remaining: 4, ResetAfter: 10 * time.Second},
		{Allowed: true, Remaining: 4, ResetAfter: 2 * time.Second},
	}
	again := rows[1]
	again.Remaining = 3
	suites.Guards.Run(
		t,
		guardStep{Call: admit(admitParams{Limits: limits}), Writes: true, Want: passesUntimed(rows...)},
		guardStep{Name: "a receipt does", Call: admit(admitParams{Receipt: "r", Limits: limits[1:2]}), Writes: true, Want: passes(again)},
		guardStep{Name: "so does an interval that is not in whole milliseconds", Advance: 20 * time.Second, Call: admit(admitParams{Limits: []admitLimit{uneven}}), Writes: true, Want: passesAt(
			20*time.Second, admitRow{Allowed: true, Remaining: 6, ResetAfter: 142_858 * time.Microsecond},
		)},
		guardStep{Name: "nothing at all does not", Call: admit(admitParams{}), Want: passesUntimed()},
	)
}

// Each kind refunds as long as the charge counts, and not a tick longer; a log's entry is found by its time.
func TestRefund_whileItCounts(t *testing.T) {
	limits := suites.GuardLimits(2)
	for i, row := range suites.TakenAtStart() {
		one := limits[i : i+1]
		back := suites.RefundParams{Limits: one, Left: []time.Duration{row.ResetAfter}, At: luatest.Start, Age: row.ResetAfter - time.Millisecond}
		late, other, none := back, back, back
		late.Age, none.Left = row.ResetAfter, []time.Duration{0}
		other.At = afterStart(time.Microsecond)
		log := one[0].Kind == guard.LimitKindSlidingLog
		if log {
			late.At = time.Time{}
		}
		t.Run(string(one[0].Kind), func(t *testing.T) {
			want := passesUntimed(row)
			if log {
				want = passes(row)
			}
			steps := []guardStep{
				{Call: admit(admitParams{Limits: one}), Writes: true, Want: want},
				{Name: "nothing was taken", Call: refund(none), Want: given},
				{Name: "lapsed", Call: refund(late), Want: given},
			}
			if log {
				steps = append(steps, guardStep{Name: "of another time", Call: refund(other), Want: given})
			}
			suites.Guards.Run(t, append(steps, guardStep{Name: "counts still", Advance: back.Age, Call: refund(back), Writes: true, Want: given})...)
		})
	}
}

func TestRefund_refusesArguments(t *testing.T) {
	limits := suites.GuardLimits(2)
	heavy := suites.RefundParams{Limits: limits, Left: suites.TakenOf(suites.TakenAtStart()), At: luatest.Start, Weight: 3}
	for name, back := range map[string]suites.RefundParams{
		"a row too few":           {Limits: limits, Left: make([]time.Duration, 3)},
		"a row too many":          {Limits: limits, Left: make([]time.Duration, 5)},
		"no rows":                 {Limits: limits},
		"no limits":               {Left: make([]time.Duration, 1)},
		"what no call could take": heavy,
	} {
		t.Run(name, func(t *testing.T) {
			suites.Guards.Run(t, guardStep{Call: refund(back), WantErr: fcall.ErrArgument})
		})
	}
	suites.Guards.Run(t, guardStep{Name: "nothing at all", Call: refund(suites.RefundParams{}), Want: given})
}
