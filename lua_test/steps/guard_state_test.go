package steps_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/guard"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// everything is a call that asks for all that there is, and everythingBack gives it back.
func everything() (admitParams, suites.RefundParams) {
	p := admitParams{
		Subject: "u1", Receipt: "r", Limits: suites.GuardLimits(5), Challenge: "t1", Budgets: []guard.Budget{{Budget: 100, Window: time.Hour}}, Estimate: 10, Hold: time.Second, Reservation: "i1",
		Tiers: []guard.AdmitTiers{{Threshold: 99, Window: time.Hour, Block: time.Minute}}, Holder: "h",
	}
	return p, suites.RefundParams{Subject: "u1", Receipt: "r", Limits: p.Limits, Left: suites.TakenOf(suites.TakenAtStart()), At: luatest.Start, Reservation: "i1", Challenge: "t1"}
}

// A key that cannot be read refuses before anything is written, whichever it is.
func TestGuard_unreadableKeysAreReportedAndNothingIsWritten(t *testing.T) {
	p, back := everything()
	again := p
	again.Receipt, again.Reservation = "s", "i2"
	keys := []struct {
		suffix    string
		value     []any // of a string, or of a hash's field
		givesBack bool  // whether refund reads it
	}{
		{"left", nil, false},
		{"checked", nil, true},
		{"block", []any{"x"}, false},
		{"attempts", []any{"x"}, false},
		{"challenges", []any{"t1", "x"}, true},
		{"charges", []any{"state", "x"}, true},
		{"sliding_log:a", nil, true},
		{"sliding_counter:a", []any{"x"}, true},
		{"fixed_window:a", []any{"x"}, true},
		{"gcra:a", []any{"x"}, true},
	}
	suites.Guards.Each(t, func(t *testing.T, s *luatest.Server, c guarded) {
		for _, k := range keys {
			for _, value := range [][]any{nil, k.value} {
				name := guardKey(k.suffix)
				s.Do(t, "FLUSHDB")
				s.Set(t, luatest.Start)
				if _, err := c.Challenges.Issue(t.Context(), challenge.IssueParams{Subject: "u1", Token: "t1", TTL: time.Hour}); err != nil {
					t.Fatal(err)
				}
				if r, err := c.Guard.Admit(t.Context(), p.Packed()); err != nil || !r.Allowed {
					t.Fatalf("admit: %+v, %v", r, err)
				}
				s.Advance(t, time.Second) // the hold has ended: it is read
				switch {
				case value == nil:
					wrongType(name)(t, s)
				case len(value) == 1:
					s.Do(t, "SET", name, value[0])
					s.Expire(t, name, time.Hour)
				default:
					s.Do(t, append([]any{"HSET", name}, value...)...)
				}
				tell := func(what string, err error) {
					t.Helper()
					var state *fcall.StateError
					if !errors.As(err, &state) || state.Key != name {
						t.Errorf("%s with %v in %s: %v", what, value, k.suffix, err)
					}
				}
				before, err := s.Snapshot(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				_, err = c.Guard.Admit(t.Context(), again.Packed())
				tell("admit", err)
				sameKeys(t, s, before)
				if k.givesBack {
					_, err = c.Guard.Refund(t.Context(), back.Packed())
					tell("refund", err)
					sameKeys(t, s, before)
				}
			}
		}
	})
}

// Every key that a call writes expires, in real units.
func TestGuard_expiriesOnRealTime(t *testing.T) {
	p, back := everything()
	suites.Guards.EachOnRealTime(t, func(t *testing.T, s *luatest.Server, c guarded) {
		take := func() {
			s.Do(t, "FLUSHDB")
			if _, err := c.Challenges.Issue(t.Context(), challenge.IssueParams{Subject: "u1", Token: "t1", TTL: time.Hour}); err != nil {
				t.Fatal(err)
			}
			r, err := c.Guard.Admit(t.Context(), p.Packed())
			if err != nil || !r.Allowed {
				t.Fatalf("admit: %+v, %v", r, err)
			}
			back.Left, back.At = suites.TakenOf(r.Limits), r.At
		}
		s.CheckTTLs(t, map[string]time.Duration{
			guardKey("checked"): 10 * time.Second, guardKey("attempts"): time.Hour, guardKey("challenges"): time.Hour,
			guardKey("charges"): keptFor(time.Hour), guardKey("sliding_log:a"): 10 * time.Second,
			guardKey("sliding_counter:a"): 20 * time.Second, guardKey("fixed_window:a"): 10 * time.Second, guardKey("gcra:a"): 2 * time.Second,
		}, take)
		s.CheckTTLs(t, map[string]time.Duration{
			guardKey("attempts"): time.Hour, guardKey("challenges"): time.Hour, guardKey("charges"): keptFor(time.Hour),
			guardKey("checked"): 10 * time.Second, guardKey("sliding_log:a"): 10 * time.Second, // what callers need of them
		}, func() {
			take()
			if r, err := c.Guard.Refund(t.Context(), back.Packed()); err != nil || !r.Refunded {
				t.Fatalf("refund: %+v, %v", r, err)
			}
		})
	})
}
