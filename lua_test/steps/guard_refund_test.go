package steps_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/guard"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

var notGiven = guard.RefundResult{}

// A whole call: limits of every kind, a reservation and a challenge, with a receipt.
func TestRefund_everythingOnce(t *testing.T) {
	limits := suites.GuardLimits(2)
	issue := by(suites.ChallengesOf, (*challenge.Client).Issue, issueParams{Subject: "u1", Token: "t1", TTL: time.Hour, Payload: "chat"})
	consume := by(suites.ChallengesOf, (*challenge.Client).Consume, challenge.ConsumeParams{Subject: "u1", Token: "t1", Payload: "chat"})
	take := admit(admitParams{
		Receipt: "r", Limits: limits, Challenge: "t1", Payload: "chat", Budgets: []guard.AdmitBudgets{{Budget: 100, Window: time.Hour}}, Estimate: 70, Reservation: "i",
		Tiers: []guard.AdmitTiers{{Threshold: 9, Window: time.Hour, Block: time.Minute}},
	})
	took := func(counted int64) admitResult {
		return admitResult{
			Allowed: true, Reason: "none", At: afterStart(0), Challenge: "consumed",
			Limits:  suites.TakenAtStart(),
			Budgets: []admitBudget{{Allowed: true, Spent: 70, Remaining: 30}}, Tiers: []admitTier{{Count: counted, Remaining: 8 - counted}},
		}
	}
	back := refund(suites.RefundParams{Receipt: "r", Limits: limits, Left: suites.TakenOf(suites.TakenAtStart()), At: luatest.Start, Reservation: "i", Challenge: "t1", Payload: "chat"})
	suites.Guards.Run(
		t,
		guardStep{Name: "no such receipt", Call: back, Want: notGiven},
		guardStep{Call: issue, Writes: true, Want: issueResult{Token: "t1", ExpiresAfter: time.Hour, Outstanding: 1}},
		guardStep{Call: take, Writes: true, Want: took(1)},
		guardStep{Name: "the attempt stays", Call: back, Writes: true, Want: given, TTLs: ttls{
			guardKey("attempts"): time.Hour, guardKey("challenges"): time.Hour, guardKey("charges"): 2 * time.Hour,
			guardKey("checked"): 10 * time.Second, guardKey("sliding_log:a"): 10 * time.Second, // what callers need of them
		}},
		guardStep{Name: "twice is once", Call: back, Want: notGiven},
		guardStep{Name: "as if it had not come", Call: take, Writes: true, Want: took(2)},
		guardStep{Name: "and once for this one", Call: back, Writes: true, Want: given},
		guardStep{Name: "the challenge can be consumed", Call: consume, Writes: true, Want: consumed},
		guardStep{Name: "nothing is reserved", Call: by(suites.CostOf, (*budgetClient).Cancel, cancelParams{Subject: "u1", Receipt: "i"}), Want: cancelResult{Outcome: "unknown"}},
	)
}

// A call that ran for longer than its quota's periods is refunded too: what it reserved, and not what others charged since.
func TestRefund_afterTheQuotasPeriods(t *testing.T) {
	quota := func(after time.Duration) []admitLimit {
		start := luatest.Start.Truncate(time.Hour).Add(after)
		return []admitLimit{{
			Name: "hour", Kind: guard.LimitKindQuota, Limit: 5, Previous: start.Add(-time.Hour), Start: start, Window: time.Hour, After: start.Add(2 * time.Hour),
		}}
	}
	begun := luatest.Start.Sub(luatest.Start.Truncate(time.Hour))
	counted := guard.LimitResult{Allowed: true, Remaining: 4, ResetAfter: time.Hour - begun}
	take := admit(admitParams{Reservation: "i", Limits: quota(0), Budgets: []guard.AdmitBudgets{{Budget: 100, Window: day}}, Estimate: 70})
	late := refund(suites.RefundParams{
		Limits: quota(0), Left: suites.TakenOf([]guard.LimitResult{counted}), At: luatest.Start, Age: 3 * time.Hour, Reservation: "i",
	})
	taken := passes(counted)
	taken.Budgets = []admitBudget{{Allowed: true, Spent: 70, Remaining: 30}}
	suites.Guards.Run(
		t,
		guardStep{Call: take, Writes: true, Want: taken},
		guardStep{Advance: 3 * time.Hour, Call: admit(admitParams{Limits: quota(3 * time.Hour)}), Writes: true, Want: passesAt(3*time.Hour, counted)},
		guardStep{Call: late, Writes: true, Want: given},
		guardStep{Name: "nothing is reserved", Call: by(suites.CostOf, (*budgetClient).Cancel, cancelParams{Subject: "u1", Receipt: "i"}), Want: cancelResult{Outcome: "unknown"}},
		guardStep{Name: "the other's charge is still there", Call: admit(admitParams{Limits: quota(3 * time.Hour)}), Writes: true, Want: passesAt(3*time.Hour, guard.LimitResult{Allowed: true, Remaining: 3, ResetAfter: time.Hour - begun})},
	)
}

// A quota whose periods are over is left out, and an error still names a later limit by its place in the call.
func TestRefund_errorNamesTheLimitAfterAnEndedQuota(t *testing.T) {
	start := luatest.Start.Truncate(time.Hour).Add(-3 * time.Hour)
	limits := []admitLimit{
		{Name: "hour", Kind: guard.LimitKindQuota, Limit: 5, Previous: start.Add(-time.Hour), Start: start, Window: time.Hour, After: start.Add(2 * time.Hour)},
		{Name: "a", Kind: guard.LimitKindFixedWindow, Limit: 5, Window: time.Minute, Cost: cost(6)},
	}
	back := refund(suites.RefundParams{Limits: limits, Left: []time.Duration{time.Hour, time.Minute}})
	suites.Guards.Each(t, func(t *testing.T, _ *luatest.Server, g guarded) {
		_, err := back(t.Context(), g)
		if !errors.Is(err, fcall.ErrArgument) || !strings.Contains(err.Error(), "limits.1.cost") {
			t.Errorf("got %v", err)
		}
	})
}

// A sliding counter's share of the previous window is refunded there, where it counts for less.
func TestRefund_counterOfTheWindowBefore(t *testing.T) {
	limits := suites.GuardLimits(4)[1:2]
	take, look := admit(admitParams{Limits: limits}), limits[0]
	look.Cost = cost(0)
	peek := admit(admitParams{Limits: []admitLimit{look}})
	row := func(left int64, reset time.Duration) admitResult {
		return passesUntimed(admitRow{Allowed: true, Remaining: left, ResetAfter: reset})
	}
	back := func(left, age time.Duration) func(context.Context, guarded) (any, error) {
		return refund(suites.RefundParams{Limits: limits, Left: []time.Duration{left}, Age: age})
	}
	suites.Guards.Run(
		t,
		guardStep{Call: take, Writes: true, Want: row(3, 20*time.Second)},
		guardStep{Call: take, Writes: true, Want: row(2, 20*time.Second)},
		guardStep{Name: "two before weigh one", Advance: 15 * time.Second, Call: take, Writes: true, Want: row(2, 15*time.Second)},
		guardStep{Name: "one of them is given back", Call: back(20*time.Second, 15*time.Second), Writes: true, Want: given},
		guardStep{Name: "half of one, rounded up, and the one of this window", Call: peek, Want: row(2, 15*time.Second)},
		guardStep{Name: "the other, too", Call: back(20*time.Second, 15*time.Second), Writes: true, Want: given},
		guardStep{Call: peek, Want: row(3, 15*time.Second)},
		guardStep{Name: "nothing is left of that window", Call: back(20*time.Second, 15*time.Second), Want: given},
		guardStep{Name: "this window's", Call: back(15*time.Second, 0), Writes: true, Want: given, TTLs: ttls{}},
	)
}
