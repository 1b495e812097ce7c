package steps_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

var lookAtU1 = guard.PeekParams{Subject: "u1", Limits: []guard.PeekLimits{{Name: "none"}, {Name: "minute"}}}

func TestGuardPeek_listsWhatASubjectHas(t *testing.T) {
	at := luatest.Start.Add
	p := admitParams{
		Subject: "u1", Limits: []admitLimit{perLog("minute", 2, time.Minute)}, Tiers: []guard.AdmitTiers{{Threshold: 3, Window: time.Hour, Block: time.Minute}},
		Budgets: []guard.Budget{{Budget: 100, Window: time.Hour}}, Estimate: 10, Hold: 2 * time.Minute,
	}
	suites.Guards.Each(t, func(t *testing.T, s *luatest.Server, c guarded) {
		s.Set(t, luatest.Start)
		look := func() guard.PeekResult {
			t.Helper()
			before, err := s.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r, err := c.Guard.Peek(t.Context(), lookAtU1)
			if err != nil {
				t.Fatal(err)
			}
			if after, err := s.Snapshot(t.Context()); err != nil || cmp.Diff(before, after) != "" {
				t.Errorf("a look changed keys: %v %s", err, cmp.Diff(before, after))
			}
			return r
		}
		admit := func(receipt, token string) {
			t.Helper()
			call := p
			call.Receipt, call.Reservation, call.Challenge = receipt, "of "+receipt, token
			if token != "" {
				call.Payload = "chat"
			}
			if _, err := c.Guard.Admit(t.Context(), call.Packed()); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(guard.PeekResult{Now: at(0)}, look(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("unknown subject (-want +got):\n%s", diff)
		}
		for _, token := range []string{"t2", "t1"} {
			if _, err := c.Challenges.Issue(t.Context(), challenge.IssueParams{Subject: "u1", Token: token, TTL: time.Hour, Payload: "chat"}); err != nil {
				t.Fatal(err)
			}
		}
		admit("a", "t2")
		s.Advance(t, time.Second)
		admit("b", "")
		s.Advance(t, time.Second)
		admit("c", "") // the third attempt: blocked
		if _, err := c.Cost.Settle(t.Context(), budget.SettleParams{Subject: "u1", Receipt: "of a", Actual: 7}); err != nil {
			t.Fatal(err)
		}
		want := guard.PeekResult{
			Now:        at(2 * time.Second),
			Admissions: []guard.PeekAdmissionsResult{{Limit: 2, At: at(0)}, {Limit: 2, At: at(time.Second)}},
			Attempts:   []guard.PeekAttemptsResult{{At: at(0)}, {At: at(time.Second)}, {At: at(2 * time.Second)}},
			Strikes:    []guard.PeekStrikesResult{{At: at(2 * time.Second)}},
			Reservations: []guard.PeekReservationsResult{
				{ID: "of a", State: "settled", Amount: 7, At: at(0), CountsUntil: at(time.Hour)},
				{ID: "of b", State: "open", Amount: 10, At: at(time.Second), CountsUntil: at(2*time.Minute + time.Second)},
			},
			Challenges: []guard.PeekChallengesResult{
				{Token: "t2", State: "consumed", Issued: at(0), Expires: at(time.Hour)},
				{Token: "t1", State: "unused", Issued: at(0), Expires: at(time.Hour), Payload: "chat"},
			},
		}
		if diff := cmp.Diff(want, look(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if _, err := c.Cost.Cancel(t.Context(), budget.CancelParams{Subject: "u1", Receipt: "of b"}); err != nil {
			t.Fatal(err)
		}
		s.Advance(t, time.Hour-2*time.Second)
		want.Now, want.Reservations, want.Challenges = at(time.Hour), want.Reservations[:1], nil
		got := look()
		got.Admissions, want.Admissions = nil, nil // a real server's key has expired, and the embedded one's may
		got.Attempts, want.Attempts = nil, nil
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("an hour later (-want +got):\n%s", diff)
		}
	})
}

func TestGuardPeek_isBounded(t *testing.T) {
	suites.Guards.Each(t, func(t *testing.T, s *luatest.Server, c guarded) {
		s.Set(t, luatest.Start)
		p := admitParams{
			Subject: "u1", Limits: []admitLimit{perLog("minute", 1000, time.Minute)}, Tiers: []guard.AdmitTiers{{Threshold: 1000, Window: time.Hour, Block: time.Minute}},
			Budgets: []guard.Budget{{Budget: 1000, Window: time.Hour}}, Estimate: 1,
		}
		for i := range 130 {
			p.Receipt, p.Reservation = fmt.Sprint("r", i), fmt.Sprint("i", i)
			if r, err := c.Guard.Admit(t.Context(), p.Packed()); err != nil || !r.Allowed {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		r, err := c.Guard.Peek(t.Context(), lookAtU1)
		if err != nil {
			t.Fatal(err)
		}
		if n := [3]int{len(r.Admissions), len(r.Attempts), len(r.Reservations)}; n != [3]int{100, 100, 100} {
			t.Errorf("%v entries, want 100 of each", n)
		}
		if last := r.Reservations[99].ID; last != "i129" {
			t.Errorf("the last reservation is %s", last)
		}
	})
}

// An unreadable key is reported with its subject.
func TestGuardPeek_unreadableKeysAreReported(t *testing.T) {
	suites.Guards.Each(t, func(t *testing.T, s *luatest.Server, c guarded) {
		for _, k := range []struct {
			suffix string
			set    []any
		}{
			{"attempts", []any{"SET", "x"}},
			{"charges", []any{"HSET", "state", "x"}},
			{"challenges", []any{"HSET", "t1", "x"}},
			{"sliding_log:minute", []any{"RPUSH", "x"}},
			{"sliding_log:minute", []any{"SET", "1"}},
			{"charges", []any{"SET", "1"}},
		} {
			s.Do(t, "FLUSHDB")
			name := guardKey(k.suffix)
			s.Do(t, append([]any{k.set[0], name}, k.set[1:]...)...)
			_, err := c.Guard.Peek(t.Context(), lookAtU1)
			var state *fcall.StateError
			if !errors.As(err, &state) || state.Key != name {
				t.Errorf("%v in %s: %v", k.set, k.suffix, err)
			}
		}
	})
}
