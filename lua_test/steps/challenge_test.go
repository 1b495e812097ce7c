package steps_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

type (
	challengeStep = luatest.Step[*challenge.Client]
	issueParams   = challenge.IssueParams
	issueResult   = challenge.IssueResult
)

func issue(p issueParams) func(context.Context, *challenge.Client) (any, error) {
	p.Subject = "u1"
	return luatest.Call((*challenge.Client).Issue, p)
}

func consume(token, payload string) func(context.Context, *challenge.Client) (any, error) {
	return luatest.Call((*challenge.Client).Consume, challenge.ConsumeParams{Subject: "u1", Token: token, Payload: payload})
}

func peekAt(token string) func(context.Context, *challenge.Client) (any, error) {
	return luatest.Call((*challenge.Client).Peek, challenge.PeekParams{Subject: "u1", Token: token})
}

func challengeKey(subject string) string { return "rl:{" + subject + "}:challenges" }

func issued(token string, expires time.Duration, outstanding int64) issueResult {
	return issueResult{Token: token, ExpiresAfter: expires, Outstanding: outstanding}
}

func again(token string, expires time.Duration, outstanding int64) issueResult {
	return issueResult{Token: token, Reused: true, ExpiresAfter: expires, Outstanding: outstanding}
}

func consumption(o challenge.ConsumeOutcome) challenge.ConsumeResult {
	return challenge.ConsumeResult{Outcome: o}
}

var (
	consumed = consumption(challenge.ConsumeOutcomeConsumed)
	replayed = consumption(challenge.ConsumeOutcomeReplayed)
	unknown  = consumption(challenge.ConsumeOutcomeExpiredOrUnknown)
	mismatch = consumption(challenge.ConsumeOutcomeMismatch)
)

func TestIssue_reusesWithin(t *testing.T) {
	p := func(token string) issueParams {
		return issueParams{Token: token, TTL: 5 * time.Minute, ReuseWithin: 10 * time.Second}
	}
	challenges.Run(
		t,
		challengeStep{Name: "first use", Call: issue(p("a")), Writes: true, TTLs: ttls{challengeKey("u1"): 5 * time.Minute}, Want: issued("a", 5*time.Minute, 1)},
		challengeStep{Name: "a double click", Call: issue(p("b")), Want: again("a", 5*time.Minute, 1)},
		challengeStep{Advance: 10*time.Second - time.Microsecond, Call: issue(p("b")), Want: again("a", 290*time.Second+time.Microsecond, 1)},
		challengeStep{Name: "too long ago", Advance: time.Microsecond, Call: issue(p("b")), Writes: true, TTLs: ttls{challengeKey("u1"): 5 * time.Minute}, Want: issued("b", 5*time.Minute, 2)},
		challengeStep{Name: "the latest is returned", Call: issue(p("c")), Want: again("b", 5*time.Minute, 2)},
		challengeStep{Name: "not one that is used", Call: consume("b", ""), Writes: true, Want: consumed},
		challengeStep{Call: issue(p("c")), Writes: true, Want: issued("c", 5*time.Minute, 2)},
		challengeStep{Name: "long idle", Advance: 1000 * day, Call: issue(p("d")), Writes: true, TTLs: ttls{challengeKey("u1"): 5 * time.Minute}, Want: issued("d", 5*time.Minute, 1)},
	)
}

func TestIssue_tooManyOutstanding(t *testing.T) {
	p := func(token, payload string, most int64) issueParams {
		return issueParams{Token: token, TTL: time.Minute, Payload: payload, MaxOutstanding: most}
	}
	challenges.Run(
		t,
		challengeStep{Call: issue(p("a", "login", 2)), Writes: true, Want: issued("a", time.Minute, 1)},
		challengeStep{Name: "exactly the limit", Advance: time.Second, Call: issue(p("b", "login", 2)), Writes: true, Want: issued("b", time.Minute, 2)},
		challengeStep{Name: "one more: the latest is returned, however old", Advance: 50 * time.Second, Call: issue(p("c", "login", 2)), Want: again("b", 10*time.Second, 2)},
		challengeStep{Name: "none for this payload: the oldest goes", Call: issue(p("c", "pay", 2)), Writes: true, Want: issued("c", time.Minute, 2)},
		challengeStep{Call: consume("a", "login"), Want: unknown},
		challengeStep{Name: "one is used", Call: consume("b", "login"), Writes: true, Want: consumed},
		challengeStep{Call: issue(p("d", "login", 2)), Writes: true, Want: issued("d", time.Minute, 2)},
		challengeStep{Name: "a lower limit drops only what was issued under one", Call: issue(p("e", "other", 1)), Writes: true, Want: issued("e", time.Minute, 3)},
		challengeStep{Call: issue(p("f", "third", 1)), Writes: true, Want: issued("f", time.Minute, 3)},
		challengeStep{Call: peekAt("d"), Want: challenge.PeekResult{State: challenge.PeekStateUnused, Payload: "login", ExpiresAfter: time.Minute}},
		challengeStep{Call: peekAt("e"), Want: challenge.PeekResult{State: challenge.PeekStateExpiredOrUnknown}},
	)
}

func TestIssue_tokenThatIsKnown(t *testing.T) {
	p := func(payload string) issueParams { return issueParams{Token: "a", TTL: time.Minute, Payload: payload} }
	challenges.Run(
		t,
		challengeStep{Call: issue(p("login")), Writes: true, Want: issued("a", time.Minute, 1)},
		challengeStep{Name: "for another payload", Call: issue(p("pay")), WantErr: fcall.ErrArgument},
		challengeStep{Call: consume("a", "login"), Writes: true, Want: consumed},
		challengeStep{Name: "a consumed one does not rise again", Call: issue(p("login")), WantErr: fcall.ErrArgument},
		challengeStep{Name: "until it is forgotten", Advance: time.Minute, Call: issue(p("login")), Writes: true, Want: issued("a", time.Minute, 1)},
	)
}

// A subject has at most 128 challenges: the oldest used ones are forgotten early, and never rise again.
func TestIssue_stateIsBounded(t *testing.T) {
	challenges.Each(t, func(t *testing.T, s *luatest.Server, c *challenge.Client) {
		token := func(i int) string { return fmt.Sprintf("token-%d", i) }
		const all = 140
		for i := range all {
			if _, err := issue(issueParams{Token: token(i), TTL: time.Hour})(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if _, err := consume(token(i), "")(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.Redis.HLen(t.Context(), challengeKey("u1")).Val(); n != 128 {
			t.Errorf("%d challenges are stored, want 128", n)
		}
		for i := range all {
			want := any(unknown)
			if i >= all-128 {
				want = replayed
			}
			if got, err := consume(token(i), "")(t.Context(), c); got != want {
				t.Errorf("%s: %v %v, want %v", token(i), got, err, want)
			}
		}
		for i := range 70 {
			r, err := c.Issue(t.Context(), issueParams{Subject: "u1", Token: fmt.Sprintf("open-%d", i), TTL: time.Hour, Payload: fmt.Sprint(i)})
			if want := int64(min(i+1, 64)); err != nil || r.Outstanding != want {
				t.Fatalf("%d open: %+v %v, want %d outstanding", i+1, r, err, want)
			}
		}
		if n := s.Redis.HLen(t.Context(), challengeKey("u1")).Val(); n != 128 {
			t.Errorf("%d challenges are stored, want 128", n)
		}
	})
}

func TestIssue_smallestAndLargestArguments(t *testing.T) {
	long, payload := strings.Repeat("t", 128), strings.Repeat("p", 1024)
	odd := "\x00\r\n open\xff"
	challenges.Run(
		t,
		challengeStep{Call: issue(issueParams{Token: "t", TTL: time.Millisecond}), Writes: true, TTLs: ttls{challengeKey("u1"): time.Millisecond}, Want: issued("t", time.Millisecond, 1)},
		challengeStep{Call: consume("t", ""), Writes: true, Want: consumed},
		challengeStep{Name: "half open", Advance: time.Millisecond, Call: consume("t", ""), Want: unknown},
		challengeStep{Call: issue(issueParams{Token: long, TTL: 3650 * day, Payload: payload, ReuseWithin: 3650 * day, MaxOutstanding: 64}), Writes: true, Want: issued(long, 3650*day, 1)},
		challengeStep{Call: peekAt(long), Want: challenge.PeekResult{State: challenge.PeekStateUnused, Payload: payload, ExpiresAfter: 3650 * day}},
		challengeStep{Call: consume(long, payload), Writes: true, Want: consumed},
		challengeStep{Name: "any bytes", Call: issue(issueParams{Token: odd, TTL: time.Minute, Payload: odd}), Writes: true, Want: issued(odd, time.Minute, 1)},
		challengeStep{Call: peekAt(odd), Want: challenge.PeekResult{State: challenge.PeekStateUnused, Payload: odd, ExpiresAfter: time.Minute}},
		challengeStep{Call: consume(odd, odd), Writes: true, Want: consumed},
	)
}

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

func TestChallenge_unreadableIsReportedAndKept(t *testing.T) {
	const us = "1767323045678901" // the start of the test
	const later = "1767323345678901"
	const number = "0000000000001 64"
	var steps []challengeStep
	for _, text := range []string{
		"", "x", "open", "open " + us, "open " + later + " " + us, "open " + later + " " + us + " " + number, "Open " + later + " " + us + " " + number + " ",
		"gone " + later + " " + us + " " + number + " ", "open              nan " + us + " " + number + " ", "open " + later + "              inf " + number + " ",
		"open 9999999999999999 " + us + " " + number + " ", "used " + later + " " + strings.Repeat("x", 16) + " " + number + " ", strings.Repeat("x", 100),
	} {
		given := func(t testing.TB, s *luatest.Server) {
			s.Do(t, "HSET", challengeKey("u1"), "a", text)
			s.Expire(t, challengeKey("u1"), time.Hour)
		}
		steps = append(
			steps,
			challengeStep{Name: text, Given: given, Call: consume("a", ""), WantErr: fcall.ErrState},
			challengeStep{Call: peekAt("a"), WantErr: fcall.ErrState},
			challengeStep{Call: issue(issueParams{Token: "b", TTL: time.Minute}), WantErr: fcall.ErrState},
		)
	}
	challenges.Run(t, append(
		steps,
		challengeStep{Name: "what is right is read", Given: func(t testing.TB, s *luatest.Server) {
			s.Do(t, "HSET", challengeKey("u1"), "a", "open "+later+" "+us+" "+number+" login")
		}, Call: consume("a", "login"), Writes: true, Want: consumed},
		challengeStep{Call: consume("a", "login"), Want: replayed},
		challengeStep{Name: "challenges that never expire get an expiry from the next", Given: func(t testing.TB, s *luatest.Server) {
			s.Do(t, "PERSIST", challengeKey("u1"))
		}, Call: issue(issueParams{Token: "b", TTL: time.Minute}), Writes: true, TTLs: ttls{challengeKey("u1"): 5 * time.Minute}, Want: issued("b", time.Minute, 1)},
	)...)
}
