package steps_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/guard"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// A block of any subject of the request refuses it, and the answer names the subject.
func TestAdmit_blocksOfOtherSubjects(t *testing.T) {
	block := func(who fcall.Subject, d time.Duration) guardStep {
		return guardStep{Call: by(suites.AbuseOf, (*abuse.Client).Block, abuse.BlockParams{Subject: who, Duration: d}), Writes: true, Want: abuse.BlockResult{Applied: true, RetryAfter: d}}
	}
	p := admitParams{
		Limits: []admitLimit{perLog("own", 5, time.Hour)}, Blocks: []fcall.Subject{"ip", "net", "key"},
		Tiers: []guard.AdmitTiers{{Threshold: 2, Window: time.Hour, Block: time.Minute}},
	}
	held := func(place int64, left time.Duration) admitResult {
		return suites.Answered(admitResult{Reason: guard.AdmitReasonBlocked, Refused: place, RetryAfter: left})
	}
	passed := passes(admitRow{Allowed: true, Remaining: 4, ResetAfter: time.Hour})
	passed.Tiers = []admitTier{{Count: 1, Remaining: 0}}
	suites.Guards.Run(
		t,
		block("key", time.Hour),
		guardStep{Name: "the last", Call: admit(p), Want: held(3, time.Hour)},
		block("net", time.Minute),
		guardStep{Name: "the first that holds", Call: admit(p), Want: held(2, time.Minute)},
		block("u1", time.Second),
		guardStep{Name: "the call's own comes first", Call: admit(p), Want: held(0, time.Second)},
		guardStep{Name: "over", Advance: time.Hour, Call: admit(p), Writes: true, Want: func() admitResult { r := passed; r.At = afterStart(time.Hour); return r }()},
	)
}

// An unreadable block does not count as an expired one.
func TestAdmit_unreadableBlockOfAnotherSubject(t *testing.T) {
	suites.Guards.Run(
		t,
		guardStep{
			Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "SET", "guard:{ip}:block", "what") },
			Call:  admit(admitParams{Blocks: []fcall.Subject{"ip"}}), WantErr: fcall.ErrState,
		},
	)
}

// Receipt, budgets and challenge each belong to the subject that the call names, and are refunded there.
func TestAdmit_eachOfItsOwnSubject(t *testing.T) {
	limits := []admitLimit{perLog("own", 2, time.Hour)}
	issue := by(suites.ChallengesOf, (*challenge.Client).Issue, issueParams{Subject: "device", Token: "t1", TTL: time.Hour})
	p := admitParams{
		Limits: limits, Receipt: "r", ReceiptOf: "user", Dedup: time.Hour, Challenge: "t1", ChallengeOf: "device",
		Budgets: []guard.Budget{{Budget: 100, Window: time.Hour}}, BudgetsOf: []fcall.Subject{"team"}, Estimate: 70, Reservation: "i",
	}
	want := suites.Answered(admitResult{
		Allowed: true, Reason: guard.AdmitReasonNone, At: afterStart(0), Challenge: "consumed",
		Limits: []admitRow{{Allowed: true, Remaining: 1, ResetAfter: time.Hour}}, Budgets: []admitBudget{{Allowed: true, Spent: 70, Remaining: 30}},
	})
	known := want
	known.Duplicate, known.Challenge = true, "none"
	known.Limits = []admitRow{{Allowed: true, Remaining: 1, ResetAfter: time.Hour}}
	back := suites.RefundParams{
		Subject: "user", Limits: limits, Of: []fcall.Subject{"u1"}, Left: []time.Duration{time.Hour}, At: luatest.Start, Receipt: "r",
		Reservation: "i", Budgets: p.Budgets, BudgetsOf: p.BudgetsOf, Challenge: "t1", ChallengeOf: "device",
	}
	suites.Guards.Run(
		t,
		guardStep{Call: issue, Writes: true, Want: issueResult{Token: "t1", ExpiresAfter: time.Hour, Outstanding: 1}},
		guardStep{Call: admit(p), Writes: true, Want: want, TTLs: ttls{
			guardKey("sliding_log:own"): time.Hour, "guard:{user}:checked": time.Hour, "guard:{device}:challenges": time.Hour, "guard:{team}:charges": keptFor(time.Hour),
		}},
		guardStep{Name: "a repeat", Call: admit(p), Want: known},
		guardStep{Name: "back", Call: refundAs(back), Writes: true, Want: given},
		guardStep{Name: "as if it had not come", Call: admit(p), Writes: true, Want: want},
	)
}
