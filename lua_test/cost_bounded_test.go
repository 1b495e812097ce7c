package luatest_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/model"
)

// Histories of thousands of charges on one bucket, with windows, budgets, holds and penalties that differ from call to call.
func TestCost_longHistoriesAgreeWithTheModel(t *testing.T) {
	spans := []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, time.Second, 1500 * time.Millisecond, 4 * time.Second, 20 * time.Second}
	draw := rapid.Custom(func(t *rapid.T) func(receipts int) (costCall, time.Duration) {
		span := rapid.SampledFrom(spans)
		limits := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) model.CostLimit {
			return model.CostLimit{Budget: rapid.Int64Range(0, 3000).Draw(t, "budget"), Window: span.Draw(t, "window")}
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
	})
	budgets.Each(t, func(t *testing.T, s *luatest.Server, client *budget.Client) {
		seeds, calls := 3, 4000
		if slow || s.Engine != "embedded" { // several round trips a call
			seeds, calls = 1, 2000
		}
		for seed := range seeds {
			m, now := model.NewCost(), luatest.Start
			s.Do(t, "FLUSHDB")
			for i := range calls {
				c, move := draw.Example(seed*calls + i)(i)
				now = now.Add(move)
				m.Move(now)
				s.Set(t, now)
				pipe := s.Redis.Pipeline()
				result := c.queue(t.Context(), client, pipe)
				_, _ = pipe.Exec(t.Context()) // each reply has its own error
				got, err := result()
				if want := c.answer(m).reply; err != nil || !reflect.DeepEqual(want, got) {
					t.Fatalf("seed %d, call %d at %s, %s: %v\n(-model +server):\n%s", seed, i+1, now.Sub(luatest.Start), c, err, cmp.Diff(want, got))
				}
			}
		}
	})
}

// Work is what a call asks of Redis: commands, and the arguments and elements that they carry.
type work struct{ commands, elements int }

// counted makes the server count what the library's functions ask of it, and returns what one call has asked, if it is called
// before and after.
func counted(t *testing.T, s *luatest.Server, library string) func() work {
	t.Helper()
	list, err := s.Redis.FunctionList(t.Context(), redis.FunctionListQuery{LibraryNamePattern: library, WithCode: true}).Result()
	if err != nil || len(list) != 1 {
		t.Fatalf("list %s: %v, %v", library, list, err)
	}
	head, body, _ := strings.Cut(list[0].Code, "\n")
	code := head + `
local commands, elements = 0, 0
local function counted(...)
  commands = commands + 1
  local found = redis.call(...)
  elements = elements + select('#', ...)
  if type(found) == 'table' then
    elements = elements + #found
  end
  return found
end
redis.register_function('` + library + `_work', function()
  local asked = {commands, elements}
  commands = 0
  elements = 0
  return asked
end)
` + strings.ReplaceAll(body, "redis.call(", "counted(")
	s.Do(t, "FUNCTION", "LOAD", "REPLACE", code)
	return func() work {
		asked, err := s.Redis.Do(t.Context(), "FCALL", library+"_work", 0).Int64Slice()
		if err != nil {
			t.Fatal(err)
		}
		if s.Engine != "embedded" { // the test's clock stands in for TIME, which ships
			return work{int(asked[0]) + 1, int(asked[1]) + 3}
		}
		return work{int(asked[0]), int(asked[1])}
	}
}

// No call's work grows with the charges: with 100,000 the dearest is at most twice what it is with 10.
func TestCost_workIsBounded(t *testing.T) {
	budgets.Each(t, func(t *testing.T, s *luatest.Server, c *budget.Client) {
		many := 100_000
		if slow || testing.Short() || s.Engine != "embedded" { // the same Lua asks for the same everywhere
			many = 4_000
		}
		asked := counted(t, s, budget.Library.ServerName)
		few, lot := costWork(t, s, c, asked, 10), costWork(t, s, c, asked, many)
		for name, most := range lot {
			t.Logf("%-45s %3d and %3d with 10, %3d and %3d with %d", name, few[name].commands, few[name].elements, most.commands, most.elements, many)
			if most.commands > 2*few[name].commands {
				t.Errorf("%s: %d commands with %d charges, %d with 10", name, most.commands, many, few[name].commands)
			}
		}
	})
}

// costWork is the dearest work of each kind of call on a bucket of charges of 10 micros, a millisecond apart, two of
// three with an open hold.
func costWork(t *testing.T, s *luatest.Server, c *budget.Client, asked func() work, charges int) map[string]work {
	t.Helper()
	s.Do(t, "FLUSHDB")
	s.Set(t, luatest.Start)
	dearest := map[string]work{}
	measure := func(name string, call func(context.Context, *budget.Client) (any, error)) {
		t.Helper()
		asked()
		if _, err := call(t.Context(), c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w := asked()
		dearest[name] = work{max(dearest[name].commands, w.commands), max(dearest[name].elements, w.elements)}
	}
	full := fcall.Micros(10 * charges)
	limits := []budget.ReserveLimits{{Budget: 2 * full, Window: 2 * time.Hour}}
	next := 0
	add := func(name string) {
		t.Helper()
		s.Advance(t, time.Millisecond)
		p := reserve(fmt.Sprint("r", next), 10, limits)
		if p.Hold = time.Hour; next%3 == 0 {
			p.Hold = 0
		}
		measure(name, reserves(p))
		next++
	}
	for next < charges {
		add("reserve, while it fills up")
	}
	for range min(charges, 10_000) { // as many as there are, 10,000 at most
		add("reserve allowed")
		if next%2 == 0 {
			measure("settle", settles(fmt.Sprint("r", next-charges), 7))
		}
	}
	all := next
	measure("reserve duplicate", reserves(reserve(fmt.Sprint("r", all-1), 10, limits)))
	for part := range fcall.Micros(20) {
		spent := []budget.ReserveLimits{{Budget: full, Window: 2 * time.Hour}}
		measure("reserve refused", reserves(reserve("x", full*(part+1)/20, spent)))
		measure("peek", peeks("x", full*(part+1)/20, budget.PeekLimits{Budget: full, Window: 2 * time.Hour}))
		window := time.Duration(all) * time.Millisecond * time.Duration(part+1) / 20
		measure("peek in a new window", peeks("x", 1, budget.PeekLimits{Budget: full, Window: window + 17*time.Microsecond}))
	}
	held := reserve("new hold", 1, limits)
	held.Hold = 30 * time.Minute
	measure("reserve with a new hold", reserves(held))
	measure("settle the oldest", settles("r1", 3))
	measure("cancel an old one", cancels("r2"))
	s.Advance(t, time.Hour-time.Duration(all)*time.Millisecond/3)
	measure("peek where half of all holds have ended", peeks("x", full, budget.PeekLimits{Budget: full, Window: 2 * time.Hour}))
	measure("settle where half of all holds have ended", settles(fmt.Sprint("r", all-1), 1))
	s.Advance(t, 50*time.Minute)
	measure("reserve where all holds have ended", reserves(reserve("y", 1, limits)))
	s.Advance(t, 10*time.Minute-time.Duration(all)*time.Millisecond/3)
	measure("reserve where half has left the window", reserves(reserve("z", 1, limits)))
	s.Advance(t, 2*time.Hour)
	measure("reserve after a long idle", reserves(reserve("a", 1, limits)))
	s.Advance(t, time.Hour)
	for i := range 20 {
		measure("reserve while it forgets", reserves(reserve(fmt.Sprint("f", i), 1, limits)))
	}
	measure("reset", luatest.Call((*budget.Client).Reset, budget.ResetParams{Bucket: "u1"}))
	return dearest
}
