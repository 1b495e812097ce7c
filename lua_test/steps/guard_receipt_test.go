package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/guard"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

func TestAdmit_duplicateTakesNothing(t *testing.T) {
	issue := by(suites.ChallengesOf, (*challenge.Client).Issue, issueParams{Subject: "u1", Token: "t1", TTL: time.Hour, Payload: "chat"})
	p := admitParams{
		Receipt: "r", Limits: []admitLimit{perLog("minute", 1, time.Minute)}, Challenge: "t1", Payload: "chat",
		Budgets: []guard.AdmitBudgets{{Budget: 100, Window: time.Hour}}, Estimate: 100, Reservation: "i1", Tiers: []guard.AdmitTiers{{Threshold: 3, Window: time.Hour, Block: time.Minute}},
	}
	other := p
	other.Receipt, other.Reservation = "s", "i2"
	sums := []admitBudget{{Allowed: true, Spent: 100}}
	known := admitResult{
		Allowed: true, Duplicate: true, Reason: "none", At: afterStart(0), Challenge: "none",
		Limits: []admitRow{{Allowed: true, ResetAfter: time.Minute}}, Budgets: sums, Tiers: []admitTier{{Count: 1, Remaining: 1}},
	}
	later := known
	later.At = afterStart(9*time.Second - time.Microsecond)
	later.Limits = []admitRow{{Allowed: true, ResetAfter: 51*time.Second + time.Microsecond}}
	suites.Guards.Run(
		t,
		guardStep{Call: issue, Writes: true, Want: issueResult{Token: "t1", ExpiresAfter: time.Hour, Outstanding: 1}},
		guardStep{Call: admit(p), Writes: true, Want: admitResult{
			Allowed: true, Reason: "none", At: afterStart(0), Challenge: "consumed", Budgets: sums,
			Limits: []admitRow{{Allowed: true, ResetAfter: time.Minute}}, Tiers: []admitTier{{Count: 1, Remaining: 1}},
		}},
		guardStep{Name: "a double click", Call: admit(p), Want: known},
		guardStep{Name: "another request", Advance: 9*time.Second - time.Microsecond, Call: admit(other), Writes: true, Want: admitResult{
			Reason: "limit", RetryAfter: 59*time.Minute + 51*time.Second + time.Microsecond, Challenge: "replayed",
			Limits:  []admitRow{{RetryAfter: 51*time.Second + time.Microsecond, ResetAfter: 51*time.Second + time.Microsecond}},
			Budgets: []admitBudget{{Spent: 100, RetryAfter: 59*time.Minute + 51*time.Second + time.Microsecond}}, Tiers: []admitTier{{Count: 2}},
		}},
		guardStep{Name: "a retry", Call: admit(p), Want: func() admitResult {
			later.Tiers = []admitTier{{Count: 2}}
			return later
		}()},
	)
}

func TestAdmit_receiptIsKnownForDedup(t *testing.T) {
	call := func(receipt string, dedup time.Duration) admitParams {
		return admitParams{Receipt: receipt, Dedup: dedup, Limits: []admitLimit{perLog("day", 9, 24*time.Hour)}}
	}
	passed := func(left int64, at time.Duration) admitResult {
		return passesAt(at, admitRow{Allowed: true, Remaining: left, ResetAfter: 24 * time.Hour})
	}
	known := func(at time.Duration, left int64, reset time.Duration) admitResult {
		r := passesAt(at, admitRow{Allowed: true, Remaining: left, ResetAfter: reset})
		r.Duplicate = true
		return r
	}
	log := guardKey("sliding_log:day")
	suites.Guards.Run(
		t,
		guardStep{Name: "10 s unless it says otherwise", Call: admit(call("a", 0)), Writes: true, TTLs: ttls{guardKey("checked"): 10 * time.Second, log: 24 * time.Hour}, Want: passed(8, 0)},
		guardStep{Advance: 10*time.Second - time.Microsecond, Call: admit(call("a", 0)), Want: known(10*time.Second-time.Microsecond, 8, 24*time.Hour-10*time.Second+time.Microsecond)},
		guardStep{Name: "counted again", Advance: time.Microsecond, Call: admit(call("a", 0)), Writes: true, Want: passed(7, 10*time.Second)},
		guardStep{Name: "known for an hour", Call: admit(call("b", time.Hour)), Writes: true, TTLs: ttls{guardKey("checked"): time.Hour, log: 24 * time.Hour}, Want: passed(6, 10*time.Second)},
		guardStep{Name: "a shorter one forgets it not", Advance: time.Minute, Call: admit(call("c", time.Second)), Writes: true, TTLs: ttls{guardKey("checked"): time.Hour, log: 24 * time.Hour}, Want: passed(5, 70*time.Second)},
		guardStep{Call: admit(call("b", time.Hour)), Want: known(70*time.Second, 5, 24*time.Hour)},
		guardStep{Name: "as the call has it", Call: admit(call("b", 30*time.Second)), Writes: true, Want: passed(4, 70*time.Second)},
	)
}

// A call that charged nothing must not let a later call pass free.
func TestAdmit_receiptOfACallThatTakesNothing(t *testing.T) {
	look := perLog("minute", 1, time.Minute)
	look.Cost = cost(0)
	take := perLog("minute", 1, time.Minute)
	suites.Guards.Run(
		t,
		guardStep{Call: admit(admitParams{Receipt: "r", Limits: []admitLimit{look}}), Want: passes(admitRow{Allowed: true, Remaining: 1})},
		guardStep{Call: admit(admitParams{Receipt: "r"}), Want: passes()},
		guardStep{Call: admit(admitParams{Receipt: "r", Limits: []admitLimit{take}}), Writes: true, Want: passes(admitRow{Allowed: true, ResetAfter: time.Minute})},
		guardStep{Call: admit(admitParams{Receipt: "q", Limits: []admitLimit{take}}), Want: stops(time.Minute, admitRow{RetryAfter: time.Minute, ResetAfter: time.Minute})},
	)
}

func TestAdmit_shadowIsReportedAndRefusesNothing(t *testing.T) {
	limits := []admitLimit{perLog("live", 3, time.Minute), perLog("shadow", 1, time.Minute)}
	limits[1].Shadow = true
	call := admit(admitParams{Limits: limits})
	live := func(left int64) admitRow {
		return admitRow{Allowed: true, Remaining: left, ResetAfter: time.Minute}
	}
	over := admitRow{RetryAfter: time.Minute, ResetAfter: time.Minute}
	suites.Guards.Run(
		t,
		guardStep{Call: call, Writes: true, Want: passes(live(2), admitRow{Allowed: true, ResetAfter: time.Minute})},
		guardStep{Name: "it would refuse, and is not charged", Call: call, Writes: true, Want: passes(live(1), over)},
		guardStep{Call: call, Writes: true, Want: passes(live(0), over)},
		guardStep{Name: "the live one refuses", Call: call, Want: stops(time.Minute, over, over)},
		guardStep{Name: "given back are those that were charged", Call: refund(suites.RefundParams{Limits: limits, Left: suites.TakenOf([]admitRow{live(0), over}), At: luatest.Start}), Writes: true, Want: given},
		guardStep{Call: call, Writes: true, Want: passes(live(0), over)},
	)
}

func TestAdmit_refusesArguments(t *testing.T) {
	minute := perLog("minute", 1, time.Minute)
	two := minute
	two.Cost = cost(2)
	seventeen := make([]admitLimit, 17)
	for i := range seventeen {
		seventeen[i] = perLog(string(rune('a'+i)), 1, time.Minute)
	}
	refuses := func(name string, p admitParams) guardStep {
		return guardStep{Name: name, Call: admit(p), WantErr: fcall.ErrArgument}
	}
	suites.Guards.Run(
		t,
		refuses("one limit twice", admitParams{Limits: []admitLimit{minute, minute}}),
		refuses("a log counts requests", admitParams{Limits: []admitLimit{two}}),
		refuses("17 limits", admitParams{Limits: seventeen}),
		refuses("a receipt of 225 bytes", admitParams{Receipt: string(make([]byte, 225)), Limits: []admitLimit{minute}}),
		refuses("a budget without an ID", admitParams{Budgets: []guard.AdmitBudgets{{Budget: 1, Window: time.Minute}}}),
		refuses("a budget with a receipt and no ID", admitParams{Receipt: "r", Budgets: []guard.AdmitBudgets{{Budget: 1, Window: time.Minute}}}),
		refuses("a block below the tick", admitParams{Tiers: []guard.AdmitTiers{{Threshold: 1, Window: 1, Block: time.Microsecond}}}),
		guardStep{Name: "nothing at all is asked for", Call: admit(admitParams{}), Want: passesUntimed()},
	)
}

// A duplicate reserves nothing, by whatever ID, even if the first call's charge is no longer known.
func TestAdmit_duplicateReservesNothing(t *testing.T) {
	call := func(receipt, reservation string) func(context.Context, guarded) (any, error) {
		return admit(admitParams{Receipt: receipt, Reservation: reservation, Budgets: []guard.AdmitBudgets{{Budget: 15, Window: time.Second}}, Estimate: 10})
	}
	fits := func(at time.Duration, spent fcall.Micros) admitResult {
		r := passesAt(at)
		r.Budgets = []admitBudget{{Allowed: true, Spent: spent, Remaining: 15 - spent}}
		return r
	}
	known := func(at time.Duration, spent fcall.Micros) admitResult {
		r := fits(at, spent)
		r.Duplicate = true
		return r
	}
	cancels := func(reservation string) func(context.Context, guarded) (any, error) {
		return by(suites.CostOf, (*budgetClient).Cancel, cancelParams{Subject: "u1", Receipt: reservation})
	}
	suites.Guards.Run(
		t,
		guardStep{Call: call("r", "i1"), Writes: true, Want: fits(0, 10)},
		guardStep{Name: "its own ID", Call: call("r", "i1"), Want: known(0, 10)},
		guardStep{Name: "another ID, for which no budget is left", Call: call("r", "i2"), Want: known(0, 10)},
		guardStep{Name: "no such reservation", Call: cancels("i2"), Want: cancelResult{Outcome: "unknown"}},
		guardStep{Name: "another receipt with a counted ID is recorded, and charges no budget", Call: call("s", "i1"), Writes: true, Want: fits(0, 10)},
		guardStep{Name: "and known from then on", Call: call("s", "i2"), Want: known(0, 10)},
		guardStep{Name: "the window is over", Advance: 1500 * time.Millisecond, Call: call("t", "i3"), Writes: true, Want: fits(1500*time.Millisecond, 10)},
		guardStep{Name: "the first charge is forgotten", Advance: 500 * time.Millisecond, Call: call("r", "i1"), Want: known(2*time.Second, 10)},
		guardStep{Name: "and not made again", Call: cancels("i1"), Want: cancelResult{Outcome: "unknown"}},
		guardStep{Name: "what was reserved is cancelled", Call: cancels("i3"), Writes: true, Want: cancelResult{Outcome: "cancelled", Refunded: 10}},
		guardStep{Name: "a duplicate of that reserves nothing either", Call: call("t", "i3"), Want: known(2*time.Second, 0)},
	)
}

// Up to `repeats` repeats pass free, as attempts. One more is a new request, after which as many repeats pass again.
func TestAdmit_repeats(t *testing.T) {
	limits := []admitLimit{perLog("minute", 9, time.Minute)}
	plain := admitParams{Receipt: "r", Dedup: time.Hour, Repeats: new(int64(2)), Limits: limits}
	left := func(remaining int64, duplicate bool) admitResult {
		r := passes(admitRow{Allowed: true, Remaining: remaining, ResetAfter: time.Minute})
		r.Duplicate = duplicate
		return r
	}
	attempts := plain
	attempts.Tiers = []guard.AdmitTiers{{Threshold: 9, Window: time.Hour, Block: time.Minute}}
	counted := func(r admitResult, n int64) admitResult {
		r.Tiers = []admitTier{{Count: n, Remaining: 8 - n}}
		return r
	}
	lookalike := plain
	lookalike.Receipt = "\x001:r"
	never := plain
	never.Repeats = new(int64(0))
	suites.Guards.Run(
		t,
		guardStep{Call: admit(plain), Writes: true, Want: left(8, false)},
		guardStep{Name: "first repeat", Call: admit(plain), Writes: true, Want: left(8, true)},
		guardStep{Name: "a receipt that looks like a repeat", Call: admit(lookalike), Writes: true, Want: left(7, false)},
		guardStep{Name: "given back", Call: refund(suites.RefundParams{Limits: limits, Left: []time.Duration{time.Minute}, At: luatest.Start, Receipt: lookalike.Receipt}), Writes: true, Want: given},
		guardStep{Name: "second repeat, an attempt", Call: admit(attempts), Writes: true, Want: counted(left(8, true), 1)},
		guardStep{Name: "a new request", Call: admit(plain), Writes: true, Want: left(7, false)},
		guardStep{Name: "its first repeat", Call: admit(plain), Writes: true, Want: left(7, true)},
		guardStep{Name: "given back", Call: refund(suites.RefundParams{Limits: limits, Left: []time.Duration{time.Minute}, At: luatest.Start, Receipt: "r"}), Writes: true, Want: given},
		guardStep{Name: "as if it had not come", Call: admit(plain), Writes: true, Want: left(7, false)},
		guardStep{Call: admit(plain), Writes: true, Want: left(7, true)},
		guardStep{Call: admit(plain), Writes: true, Want: left(7, true)},
		guardStep{Name: "no repeat passes", Call: admit(never), Writes: true, Want: left(6, false)},
		guardStep{Name: "any number passes", Call: admit(admitParams{Receipt: "r", Dedup: time.Hour, Limits: limits}), Want: left(6, true)},
	)
}
