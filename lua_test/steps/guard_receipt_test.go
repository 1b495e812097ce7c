package steps_test

import (
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
		Budgets: []guard.Budget{{Budget: 100, Window: time.Hour}}, Estimate: 100, Reservation: "i1", Tiers: []guard.AdmitTiers{{Threshold: 3, Window: time.Hour, Block: time.Minute}},
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
		refuses("a budget without an ID", admitParams{Budgets: []guard.Budget{{Budget: 1, Window: time.Minute}}}),
		refuses("a budget with a receipt and no ID", admitParams{Receipt: "r", Budgets: []guard.Budget{{Budget: 1, Window: time.Minute}}}),
		refuses("a block below the tick", admitParams{Tiers: []guard.AdmitTiers{{Threshold: 1, Window: 1, Block: time.Microsecond}}}),
		guardStep{Name: "nothing at all is asked for", Call: admit(admitParams{}), Want: passesUntimed()},
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
