package steps_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
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
		"settle": settles("a", 5), "cancel": cancels("a"), "peek": peeks("a", 1000, budget.AccountBudget{Budget: 1000, Window: window10}),
	}
}

// stored is what struct.pack writes: numbers as little-endian doubles, bytes and texts as they are.
func stored(parts ...any) string {
	var text []byte
	for _, part := range parts {
		switch part := part.(type) {
		case int:
			text = binary.LittleEndian.AppendUint64(text, math.Float64bits(float64(part)))
		case float64:
			text = binary.LittleEndian.AppendUint64(text, math.Float64bits(part))
		case byte:
			text = append(text, part)
		case string:
			text = append(text, part...)
		}
	}
	return string(text)
}

// stateOf is the state of a subject with one charge of 5, in the form of lib/cost/ledger.lua, but for some numbers.
func stateOf(but map[int]any) string {
	us := int(luatest.Start.UnixMicro())
	numbers := []any{1, 2, 0, us, us + 600000000, 0, 5, 5, byte(1), 600000000, 1000, 5, 1, us}
	for i, number := range but {
		numbers[i] = number
	}
	return stored(numbers...)
}

func TestCost_unreadableIsReportedAndKept(t *testing.T) {
	const most, tooMuch = float64(1 << 53), float64(1<<53 + 2)
	us := int(luatest.Start.UnixMicro())
	state, nan, inf := stateOf(nil), math.NaN(), math.Inf(1)
	charge := func(amount any, lane, kind byte) string { return stored(us, amount, 0, lane, kind, "a") }
	five := charge(5, 1, 1)
	states := []string{
		"", "x", state[:64], state + " ", state + stored(byte(1), 1000000, 1000, 5, 1),
		state + stored(byte(1), 1000000, 1000, 5, 1, inf),
		state + stored(byte(1), 1000000, 1000, 5, 1, 1, byte(2), 2000000, 1000, 5, 3, us),
		state + stored(byte(1), 0, 0, 0, 0, 0),
		state + stored(byte(3), 60000000, 5, 0, 3, 1),
		state + stored(byte(3), 60000000, most, 0, 1, 1),
		state + stored(byte(4), 1, tooMuch, 0, 0, 0),
		state + stored(byte(5), 0, 0, 0, 0, 0),
	}
	for i, numbers := range map[int][]any{
		0: {0, 2, 3, 9}, 1: {0, nan, inf}, 2: {-1}, 3: {0.5, nan}, 4: {tooMuch}, 5: {-inf}, 6: {most}, 7: {most},
		8: {byte(0), byte(9)}, 9: {nan}, 10: {-1000}, 11: {6, 4.5, -5, nan, tooMuch}, 12: {0, 2, 3}, 13: {nan},
	} {
		for _, number := range numbers {
			states = append(states, stateOf(map[int]any{i: number}))
		}
	}
	var unreadable [][]any
	for _, state := range states {
		unreadable = append(unreadable, []any{"state", state, "1", five, "r:a", "1"})
	}
	for _, number := range []string{"2", "0", "1.5", "nan"} {
		unreadable = append(unreadable, []any{"state", state, "1", five, "r:a", number})
	}
	for _, text := range []string{"", "gone", charge(5, 0, 1), charge(5, 10, 1), charge(5, 1, 0), charge(5, 1, 4), charge(5, 1, 3), charge(inf, 1, 1), charge(tooMuch, 1, 1), charge(nan, 1, 1), charge(-5, 1, 1)} {
		unreadable = append(unreadable, []any{"state", state, "1", text, "r:a", "1"})
	}
	unreadable = append(unreadable, []any{"1", five, "r:a", "1"}, []any{"state", state, "r:a", "1"})
	budgets.Each(t, func(t *testing.T, s *luatest.Server, c *budget.Client) {
		for _, fields := range unreadable {
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

func TestCost_keysThatNeverExpireGetAnExpiryFromALaterCharge(t *testing.T) {
	budgets.Run(
		t,
		costStep{Call: reserves(reserve("a", 600, within(1000))), Writes: true, Want: granted(600, 600, 1000, window10)},
		costStep{
			Given:   func(t testing.TB, s *luatest.Server) { s.Do(t, "PERSIST", chargesKey) },
			Advance: 11 * time.Minute, Call: reserves(reserve("b", 300, within(1000))), Writes: true, TTLs: costKeys(keptFor(window10)), Want: granted(300, 300, 1000, window10),
		},
	)
}

func TestCost_expiryOfTheLibraryThatShips(t *testing.T) {
	budgets.EachOnRealTime(t, func(t *testing.T, s *luatest.Server, c *budget.Client) {
		s.CheckTTLs(t, costKeys(keptFor(window10)), func() {
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
	us := int(luatest.Start.UnixMicro())
	budgets.Each(t, func(t *testing.T, s *luatest.Server, c *budget.Client) {
		s.Do(t, "DEL", chargesKey)
		s.Do(t, "HSET", chargesKey, "state", stateOf(nil), "1", stored(us, 5, 0, byte(1), byte(1), "a"), "r:a", "1")
		r, err := c.Reserve(t.Context(), reserve("b", 7, within(1000)))
		if err != nil {
			t.Fatal(err)
		}
		if want := granted(7, 12, 1000, window10); !cmp.Equal(r, want) {
			t.Errorf("reserve (-want +got):\n%s", cmp.Diff(want, r))
		}
		state := stateOf(map[int]any{1: 3, 5: us + int(keptFor(window10).Microseconds()), 6: 12, 7: 12, 11: 12})
		if got, err := s.Redis.HGet(t.Context(), chargesKey, "state").Result(); got != state || err != nil {
			t.Errorf("the state is %q (%v), want %q", got, err, state)
		}
	})
}
