package property_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	budget "github.com/rlfunc/rlfunc/gen/cost"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/model"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// Histories of thousands of charges on one bucket, with windows, budgets, holds and penalties that differ from call to call.
func TestCost_longHistoriesAgreeWithTheModel(t *testing.T) {
	spans := []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, time.Second, 1500 * time.Millisecond, 4 * time.Second, 20 * time.Second}
	drawn := func(spans []time.Duration) *rapid.Generator[func(receipts int) (costCall, time.Duration)] {
		return rapid.Custom(func(t *rapid.T) func(receipts int) (costCall, time.Duration) { return costCallOf(t, spans) })
	}
	type event struct {
		call costCall
		at   time.Time
		want any
	}
	// All engines play the same histories; those of a real server, with several round trips a call, begin one.
	seeds, calls := 3, 4000
	switch {
	case testing.Short():
		seeds, calls = 1, 1000
	case suites.Slow:
		seeds, calls = 1, 2000
	}
	histories := make([][]event, seeds+1)
	for seed := range histories {
		m, now, draw := model.NewCost(), luatest.Start, drawn(spans)
		if seed == seeds {
			draw = drawn(spans[:2]) // most holds are longer than charges are kept
		}
		for i := range calls {
			c, move := draw.Example(seed*calls + i)(i)
			now = now.Add(move)
			m.Move(now)
			histories[seed] = append(histories[seed], event{c, now, c.answer(m).reply})
		}
	}
	budgets := suites.Budgets
	budgets.Engines = suites.AtEnds
	budgets.Each(t, func(t *testing.T, s *luatest.Server, client *budget.Client) {
		played := histories
		if s.Engine != "embedded" {
			played = [][]event{histories[0][:min(calls, 2000)]}
		}
		for seed, history := range played {
			s.Do(t, "FLUSHDB")
			for i, e := range history {
				s.Set(t, e.at)
				pipe := s.Redis.Pipeline()
				result := e.call.queue(t.Context(), client, pipe)
				_, _ = pipe.Exec(t.Context()) // each reply has its own error
				got, err := result()
				if err != nil || !reflect.DeepEqual(e.want, got) {
					t.Fatalf("seed %d, call %d at %s, %s: %v\n(-model +server):\n%s", seed, i+1, e.at.Sub(luatest.Start), e.call, err, cmp.Diff(e.want, got))
				}
			}
		}
	})
}

// costCallOf draws a call, and how far the clock moves before it.
func costCallOf(t *rapid.T, spans []time.Duration) func(receipts int) (costCall, time.Duration) {
	span := rapid.SampledFrom(spans)
	limits := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) model.CostLimit {
		l := model.CostLimit{Budget: rapid.Int64Range(0, 3000).Draw(t, "budget"), Window: span.Draw(t, "window")}
		if after := time.Duration(rapid.IntRange(-100, 100).Draw(t, "starts")) * span.Draw(t, "apart"); after > 0 { // half of them
			l.Previous, l.Start, l.After = luatest.Start.Add(-day), luatest.Start.Add(after/4), luatest.Start.Add(day)
		}
		return l
	}), 1, 2).Draw(t, "limits")
	amount, back := rapid.Int64Range(0, 9).Draw(t, "amount"), rapid.IntRange(0, 60).Draw(t, "back")
	hold := rapid.SampledFrom([]time.Duration{0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144}).Draw(t, "hold") * 50 * time.Millisecond
	penalty := rapid.SampledFrom([]time.Duration{0, 0, 0, time.Millisecond}).Draw(t, "penalty")
	move := rapid.SampledFrom([]time.Duration{0, 0, 0, time.Microsecond, 5 * time.Millisecond, 12 * time.Millisecond, 30 * time.Millisecond}).Draw(t, "move")
	if rapid.IntRange(0, 300).Draw(t, "idle") == 7 {
		move = span.Draw(t, "long")
	}
	kind := rapid.IntRange(0, 19).Draw(t, "function")
	return func(receipts int) (costCall, time.Duration) {
		old := fmt.Sprint("r", max(receipts-back, 0))
		switch {
		case kind < 11:
			return callReserve("u1", model.CostReserve{Receipt: fmt.Sprint("r", receipts), Estimate: amount, Limits: limits, Hold: hold, Penalty: penalty}), move
		case kind < 12:
			return callReserve("u1", model.CostReserve{Receipt: old, Estimate: amount, Limits: limits, Hold: hold, Penalty: penalty}), move
		case kind < 15:
			return callSettle("u1", old, amount, limits[:min(kind-12, len(limits))]), move
		case kind < 17:
			return callCancel("u1", old), move
		}
		return callPeek("u1", old, amount*int64(back)*5, limits), move
	}
}
