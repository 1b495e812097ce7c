package steps_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/challenge"
)

func TestConsume_onceThenReplayed(t *testing.T) {
	challenges.Run(
		t,
		challengeStep{Name: "unknown", Call: consume("a", ""), Want: unknown},
		challengeStep{Call: issue(issueParams{Token: "a", TTL: time.Minute}), Writes: true, Want: issued("a", time.Minute, 1)},
		challengeStep{Name: "another token", Call: consume("A", ""), Want: unknown},
		challengeStep{Advance: time.Second, Call: consume("a", ""), Writes: true, TTLs: ttls{challengeKey("u1"): 59 * time.Second}, Want: consumed},
		challengeStep{Call: consume("a", ""), Want: replayed},
		challengeStep{Name: "known until its ttl would have ended", Advance: 59*time.Second - time.Microsecond, Call: consume("a", "x"), Want: replayed},
		challengeStep{Advance: time.Microsecond, Call: consume("a", ""), Want: unknown},
	)
}

func TestConsume_expires(t *testing.T) {
	challenges.Run(
		t,
		challengeStep{Call: issue(issueParams{Token: "a", TTL: time.Minute}), Writes: true, Want: issued("a", time.Minute, 1)},
		challengeStep{Call: issue(issueParams{Token: "b", TTL: time.Hour}), Writes: true, Want: issued("b", time.Hour, 2)},
		challengeStep{Name: "at its end it is over, though its key is there", Advance: time.Minute, Call: consume("a", ""), Want: unknown},
		challengeStep{Name: "one tick sooner", Advance: 59*time.Minute - time.Microsecond, Call: consume("b", ""), Writes: true, Want: consumed},
	)
}

func TestConsume_mismatchLeavesTheChallenge(t *testing.T) {
	challenges.Run(
		t,
		challengeStep{Call: issue(issueParams{Token: "a", TTL: time.Minute, Payload: "login"}), Writes: true, Want: issued("a", time.Minute, 1)},
		challengeStep{Call: consume("a", "pay"), Want: mismatch},
		challengeStep{Name: "none is another one", Call: consume("a", ""), Want: mismatch},
		challengeStep{Name: "a part of it", Call: consume("a", "logi"), Want: mismatch},
		challengeStep{Call: consume("a", "login"), Writes: true, Want: consumed},
		challengeStep{Name: "replayed, whatever it is for", Call: consume("a", "pay"), Want: replayed},
		challengeStep{Call: issue(issueParams{Token: "b", TTL: time.Minute}), Writes: true, Want: issued("b", time.Minute, 1)},
		challengeStep{Name: "some where there was none", Call: consume("b", "login"), Want: mismatch},
	)
}

func TestPeek_reportsAndChangesNothing(t *testing.T) {
	gone := challenge.PeekResult{State: challenge.PeekStateExpiredOrUnknown}
	challenges.Run(
		t,
		challengeStep{Call: peekAt("a"), Want: gone},
		challengeStep{Call: issue(issueParams{Token: "a", TTL: time.Minute, Payload: "login"}), Writes: true, Want: issued("a", time.Minute, 1)},
		challengeStep{Advance: time.Second, Call: peekAt("a"), Want: challenge.PeekResult{State: challenge.PeekStateUnused, Payload: "login", ExpiresAfter: 59 * time.Second}},
		challengeStep{Call: consume("a", "login"), Writes: true, Want: consumed},
		challengeStep{Call: peekAt("a"), Want: challenge.PeekResult{State: challenge.PeekStateConsumed, ExpiresAfter: 59 * time.Second}},
		challengeStep{Advance: 59 * time.Second, Call: peekAt("a"), Want: gone},
	)
}

func TestChallenge_clockBackwards(t *testing.T) {
	challenges.Run(
		t,
		challengeStep{Call: issue(issueParams{Token: "a", TTL: time.Minute, ReuseWithin: 10 * time.Second}), Writes: true, Want: issued("a", time.Minute, 1)},
		challengeStep{Name: "set back by 20 s: it is as old as it was", Advance: -20 * time.Second, Call: issue(issueParams{Token: "b", TTL: time.Minute, ReuseWithin: 10 * time.Second}), Want: again("a", 80*time.Second, 1)},
		challengeStep{Name: "a new one is issued as of the latest", Call: issue(issueParams{Token: "b", TTL: time.Minute}), Writes: true, TTLs: ttls{challengeKey("u1"): 80 * time.Second}, Want: issued("b", 80*time.Second, 2)},
		challengeStep{Call: consume("a", ""), Writes: true, Want: consumed},
		challengeStep{Advance: 80*time.Second - time.Microsecond, Call: consume("b", ""), Writes: true, Want: consumed},
	)
}

func TestChallenge_clockFarAheadIsForgotten(t *testing.T) {
	challenges.Run(
		t,
		challengeStep{Name: "issued a year ahead", Advance: 365 * day, Call: issue(issueParams{Token: "a", TTL: time.Minute}), Writes: true, Want: issued("a", time.Minute, 1)},
		challengeStep{Name: "as far ahead as it lives it counts", Advance: -time.Minute, Call: peekAt("a"), Want: challenge.PeekResult{State: challenge.PeekStateUnused, ExpiresAfter: 2 * time.Minute}},
		challengeStep{Name: "further ahead it does not", Advance: -time.Microsecond, Call: consume("a", ""), Want: unknown},
		challengeStep{Name: "and goes with the next one", Call: issue(issueParams{Token: "b", TTL: time.Minute, ReuseWithin: time.Minute}), Writes: true, TTLs: ttls{challengeKey("u1"): time.Minute}, Want: issued("b", time.Minute, 1)},
		challengeStep{Advance: time.Microsecond, Call: consume("a", ""), Want: unknown},
	)
}
