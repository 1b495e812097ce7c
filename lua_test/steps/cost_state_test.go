package steps_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/fcall"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

const chargesKey = "cost:{u1}:charges"

// costCalls is a call of each function that reads what is stored.
func costCalls() map[string]func(context.Context, *budget.Client) (any, error) {
	return map[string]func(context.Context, *budget.Client) (any, error){
		"reserve": reserves(reserve("b", 1000, within(1000))), "reserve again": reserves(reserve("a", 5, within(1000))),
		"settle": settles("a", 5), "cancel": cancels("a"), "peek": peeks("a", 1000, budget.PeekLimits{Budget: 1000, Window: window10}),
	}
}

func TestCost_unreadableIsReportedAndKept(t *testing.T) {
	us := luatest.Start.UnixMicro()
	state := fmt.Sprintf("1 2 0 %d %d 5 5; 600000000 1000 5 1 %d", us, us+600000000, us)
	charge := fmt.Sprintf("%d 5 1 0 open a", us)
	budgets.Each(t, func(t *testing.T, s *luatest.Server, c *budget.Client) {
		for _, fields := range [][]any{
			{"1", charge, "r:a", "1"}, // no state
			{"state", "", "1", charge, "r:a", "1"},
			{"state", "x", "1", charge, "r:a", "1"},
			{"state", state + " ", "1", charge, "r:a", "1"},
			{"state", state + "; 1 2", "1", charge, "r:a", "1"},
			{"state", state + "; 1000000 1000 5 1 " + strings.Repeat("9", 400), "1", charge, "r:a", "1"},
			{"state", state + "; 1000000 1000 5 1 1; 1 2", "1", charge, "r:a", "1"},
			{"state", state + "; 1000000 1000 5 1 1; 2000000 1000 5 3 1", "1", charge, "r:a", "1"},
			{"state", state + "; 0 0 0 0 0", "1", charge, "r:a", "1"},
			{"state", strings.Replace(state, ";", "; 0 0 0 0 0;", 1), "1", charge, "r:a", "1"},
			{"state", state + "! 1 2", "1", charge, "r:a", "1"},
			{"state", state + "! 1 2 3 4", "1", charge, "r:a", "1"},
			{"state", state + "! 1 9007199254740994 0", "1", charge, "r:a", "1"},
			{"state", strings.Replace(state, "1 2", "0 2", 1), "1", charge, "r:a", "1"},
			{"state", strings.Replace(state, "1 2", "3 2", 1), "1", charge, "r:a", "1"},
			{"state", strings.Replace(state, "1 2", "1 "+strings.Repeat("9", 400), 1), "1", charge, "r:a", "1"},
			{"state", strings.Replace(state, "; 600000000", " 1; 600000000", 1), "1", charge, "r:a", "1"},
			{"state", state + "! 1 2 " + strings.Repeat("9", 400), "1", charge, "r:a", "1"},
			{"state", state + "| 60000000 5 0 3 1", "1", charge, "r:a", "1"},
			{"state", state + "| 60000000 5 0 1", "1", charge, "r:a", "1"},
			{"state", state + "| 60000000 9007199254740992 0 1 1", "1", charge, "r:a", "1"},
			{"state", strings.Replace(state, "1 2", "2 2", 1), "1", charge, "r:a", "1"},
			{"state", strings.Replace(state, " 5 1 ", " 6 1 ", 1), "1", charge, "r:a", "1"},
			{"state", state, "1", fmt.Sprintf("%d 5 0 0 open a", us), "r:a", "1"},
			{"state", strings.Replace(state, " 5 1 ", " 5 3 ", 1), "1", charge, "r:a", "1"},
			{"state", strings.Replace(state, " 5 1 ", " 5 0 ", 1), "1", charge, "r:a", "1"},
			{"state", strings.Replace(state, " 5 1 ", " 5 2 ", 1), "1", charge, "r:a", "1"},
			{"state", strings.Replace(state, " 5 1 ", " 9007199254740994 1 ", 1), "1", charge, "r:a", "1"},
			{"state", strings.Replace(state, " 5 1 ", " nan 1 ", 1), "1", charge, "r:a", "1"},
			{"state", strings.Replace(state, " 5 1 ", " -5 1 ", 1), "1", charge, "r:a", "1"},
			{"state", state, "1", charge, "r:a", "2"},
			{"state", state, "1", charge, "r:a", "0"},
			{"state", state, "1", charge, "r:a", "1.5"},
			{"state", state, "1", charge, "r:a", "nan"},
			{"state", state, "1", "", "r:a", "1"},
			{"state", state, "1", "gone", "r:a", "1"},
			{"state", state, "1", fmt.Sprintf("%d inf 1 0 open a", us), "r:a", "1"},
			{"state", state, "1", fmt.Sprintf("%d 9007199254740994 1 0 open a", us), "r:a", "1"},
			{"state", state, "1", fmt.Sprintf("%d %s 1 0 open a", us, strings.Repeat("9", 400)), "r:a", "1"},
			{"state", state, "1", fmt.Sprintf("%d 5 1 0 gone ", us), "r:a", "1"},
			{"state", state, "r:a", "1"},
		} {
			s.Do(t, "DEL", chargesKey)
			s.Do(t, append([]any{"HSET", chargesKey}, fields...)...)
			s.Expire(t, chargesKey, time.Hour)
			before, err := s.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, what := range []string{"reserve again", "settle", "cancel", "peek"} {
				_, err := costCalls()[what](t.Context(), c)
				var state *fcall.StateError
				if !errors.As(err, &state) || state.Key != chargesKey {
					t.Errorf("%s with %q: %v", what, fields, err)
				}
			}
			sameKeys(t, s, before)
		}
	})
}

// A log that has lost a charge is an error when that charge is needed; it does not count as empty.
func TestCost_aLostChargeIsReportedWhenItHasToLeave(t *testing.T) {
	lose := func(t testing.TB, s *luatest.Server) { s.Do(t, "HDEL", chargesKey, "1") }
	full := reserves(reserve("c", 600, within(1000)))
	budgets.Run(
		t,
		costStep{Call: reserves(reserve("a", 600, within(1000))), Writes: true, Want: granted(600, 600, 1000, window10)},
		costStep{Advance: time.Minute, Call: reserves(reserve("b", 300, within(1000))), Writes: true, Want: granted(300, 900, 1000, window10)},
		costStep{Given: lose, Call: full, WantErr: fcall.ErrState},
		costStep{Advance: 9 * time.Minute, Call: full, WantErr: fcall.ErrState},
		costStep{Call: settles("b", 5), WantErr: fcall.ErrState},
	)
}

func TestCost_keysThatNeverExpireGetAnExpiryFromTheNextCharge(t *testing.T) {
	budgets.Run(
		t,
		costStep{Call: reserves(reserve("a", 600, within(1000))), Writes: true, Want: granted(600, 600, 1000, window10)},
		costStep{
			Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "PERSIST", chargesKey) },
			Call:  reserves(reserve("b", 300, within(1000))), Writes: true, TTLs: costKeys(2 * window10), Want: granted(300, 900, 1000, window10),
		},
	)
}

func TestCost_expiryOfTheLibraryThatShips(t *testing.T) {
	budgets.EachOnRealTime(t, func(t *testing.T, s *luatest.Server, c *budget.Client) {
		s.CheckTTLs(t, costKeys(20*time.Minute), func() {
			p := reserve("r", 1000, within(1000))
			p.Hold = time.Minute
			if _, err := c.Reserve(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// State written by hand in the library's form is read as the library's own.
func TestCost_stateIsReadAsItIsWritten(t *testing.T) {
	us := luatest.Start.UnixMicro()
	budgets.Each(t, func(t *testing.T, s *luatest.Server, c *budget.Client) {
		state := fmt.Sprintf("1 2 0 %d %d 5 5; 600000000 1000 5 1 %d", us, us+600000000, us)
		s.Do(t, "DEL", chargesKey)
		s.Do(t, "HSET", chargesKey, "state", state, "1", fmt.Sprintf("%d 5 1 0 open a", us), "r:a", "1")
		r, err := c.Reserve(t.Context(), reserve("b", 7, within(1000)))
		if err != nil {
			t.Fatal(err)
		}
		if want := granted(7, 12, 1000, window10); !cmp.Equal(r, want) {
			t.Errorf("reserve (-want +got):\n%s", cmp.Diff(want, r))
		}
		state = fmt.Sprintf("1 3 0 %d %d 12 12; 600000000 1000 12 1 %d", us, us+600000000, us)
		if got, err := s.Redis.HGet(t.Context(), chargesKey, "state").Result(); got != state || err != nil {
			t.Errorf("the state is %q (%v), want %q", got, err, state)
		}
	})
}
