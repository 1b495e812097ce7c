package steps_test

import (
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
		Receipt: "r", Limits: limits, Challenge: "t1", Payload: "chat", Budgets: []guard.Budget{{Budget: 100, Window: time.Hour}}, Estimate: 70, Reservation: "i",
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
			guardKey("attempts"): time.Hour, guardKey("challenges"): time.Hour, guardKey("charges"): keptFor(time.Hour),
			guardKey("checked"): 10 * time.Second, guardKey("sliding_log:a"): 10 * time.Second, // what callers need of them
		}},
		guardStep{Name: "twice is once", Call: back, Want: notGiven},
		guardStep{Name: "as if it had not come", Call: take, Writes: true, Want: took(2)},
		guardStep{Name: "and once for this one", Call: back, Writes: true, Want: given},
		guardStep{Name: "the challenge can be consumed", Call: consume, Writes: true, Want: consumed},
		guardStep{Name: "nothing is reserved", Call: by(suites.CostOf, (*budgetClient).Cancel, cancelParams{Subject: "u1", Receipt: "i"}), Want: cancelResult{Outcome: "unknown"}},
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
