package property_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/internal/onpath"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/model"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type costCall = call[*budget.Client, *model.Cost]

var costFamily = family[*budget.Client, *model.Cost]{
	name:  "cost",
	suite: suites.Budgets,
	model: model.NewCost,
	keys:  costKeys(costReceipts),
	draw:  drawCost,
}

var costReceipts = []string{"r1", "r1", "r2", "r2", "r3", "r4", "r5", "r6", "state", "1", "\x00\xff\r\n"}

var costWindows = []time.Duration{time.Millisecond, time.Millisecond + 3*time.Microsecond, 1500 * time.Microsecond, time.Second, 10 * time.Second, time.Minute + time.Nanosecond, day, 3650 * day}

// costKeys are the keys of budgets, and of what receipts have reserved.
func costKeys(receipts []string) (keys []storedKey) {
	for _, unit := range []string{"spent", "spent:tokens"} {
		for _, window := range costWindows {
			keys = append(keys, storedKey{fcall.Suffix(unit, window), "hash"})
		}
		keys = append(keys, storedKey{unit + ":hour", "hash"}, storedKey{unit + ":month", "hash"})
	}
	for _, r := range receipts {
		if k := (storedKey{"reservation:" + fcall.Tag(fcall.Subject(r)), "string"}); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

func drawCost(t *rapid.T) plan[*budget.Client, *model.Cost] {
	windows := costWindows
	limit := rapid.Custom(func(t *rapid.T) model.CostLimit {
		l := model.CostLimit{
			Budget: rapid.SampledFrom([]int64{0, 1, 5, 10, 10, 30, 1_000_000_000_000_000}).Draw(t, "budget"),
			Window: rapid.SampledFrom(windows).Draw(t, "window"),
			Unit:   rapid.SampledFrom([]string{"", "", "", "tokens"}).Draw(t, "unit"),
		}
		if rapid.IntRange(0, 2).Draw(t, "calendar") == 0 {
			drawPeriods(t, &l, windows[:7])
		}
		return l
	})
	// Some histories are of callers that agree, others of callers that all differ.
	sets := rapid.OneOf(
		rapid.SampledFrom(rapid.SliceOfN(rapid.SliceOfN(limit, 1, 3), 1, 3).Draw(t, "limits")),
		rapid.SliceOfN(limit, 1, 3),
	)
	if rapid.Bool().Draw(t, "alike") {
		sets = rapid.SampledFrom(rapid.SliceOfN(rapid.SliceOfN(limit, 1, 3), 1, 3).Draw(t, "limits"))
	}
	spans := windows
	longer := append([]time.Duration{0, 0, 0, time.Millisecond, time.Second, 3650 * day, 2 * time.Second, 3 * time.Second, 5 * time.Second, 7 * time.Second, time.Hour}, spans...)
	subjects := []string{"u1", "u1", "u1", "u2"}
	amounts := []int64{0, 1, 2, 3, 3, 5, 6, 10, 11}

	return plan[*budget.Client, *model.Cost]{spans: spans, call: func(t *rapid.T) costCall {
		subject := rapid.SampledFrom(subjects).Draw(t, "subject")
		receipt := rapid.SampledFrom(costReceipts).Draw(t, "receipt")
		amount := rapid.SampledFrom(amounts).Draw(t, "amount")
		limits := sets.Draw(t, "limits")
		c := model.CostReserve{
			Receipt: receipt, Estimate: amount, InUnits: rapid.SampledFrom(amounts).Draw(t, "in units"), Limits: limits,
			Hold: rapid.SampledFrom(longer).Draw(t, "hold"), AtMost: rapid.IntRange(0, 3).Draw(t, "at most") == 3,
		}
		c.Unreserved = c.InUnits > 0 && rapid.IntRange(0, 3).Draw(t, "unreserved") == 3
		switch rapid.IntRange(0, 19).Draw(t, "function") {
		default:
			return callReserve(subject, c)
		case 11, 12, 13, 14, 15:
			return callSettle(subject, receipt, amount, c.InUnits, limits, rapid.SampledFrom(longer).Draw(t, "penalty"))
		case 16, 17, 18:
			return callPeek(subject, c)
		case 19:
			return callCostReset(subject, limits)
		}
	}}
}

// drawPeriods draws three periods around the start, the last of which may be long.
func drawPeriods(t *rapid.T, l *model.CostLimit, spans []time.Duration) {
	span := rapid.Map(rapid.SampledFrom(spans), func(d time.Duration) time.Duration { return max(d.Truncate(time.Microsecond), time.Microsecond) })
	l.Window, l.Name = 0, rapid.SampledFrom([]string{"hour", "month"}).Draw(t, "name")
	l.Previous = luatest.Start.Add(-span.Draw(t, "since"))
	l.Start = l.Previous.Add(span.Draw(t, "previous"))
	l.Next = l.Start.Add(span.Draw(t, "period"))
	l.After = l.Next.Add(rapid.SampledFrom([]time.Duration{spans[0], spans[len(spans)-1], 3000 * day}).Draw(t, "next"))
}

func budgetsOf(limits []model.CostLimit) fcall.Rows[budget.Budget] {
	var rows []budget.Budget
	for _, l := range limits {
		rows = append(rows, budget.Budget{Budget: fcall.Micros(l.Budget), Window: l.Window, Unit: l.Unit, Name: l.Name, Previous: l.Previous, Start: l.Start, Next: l.Next, After: l.After})
	}
	return budget.PackBudget(rows...)
}

// inTokens is the amount of a call in the only other unit.
func inTokens(n int64, unreserved bool) fcall.Rows[budget.UnitAmount] {
	return budget.PackUnitAmount(budget.UnitAmount{Unit: "tokens", Amount: n, Unreserved: unreserved})
}

func rowsOf(rows []model.CostRow) (all []budget.BudgetResult) {
	for _, row := range rows {
		all = append(all, budget.BudgetResult{
			Allowed: row.Allowed, Spent: fcall.Micros(row.Spent), Remaining: fcall.Micros(row.Remaining), Charged: fcall.Micros(row.Charged), RetryAfter: row.RetryAfter,
		})
	}
	return all
}

func callReserve(subject string, c model.CostReserve) costCall {
	p := budget.ReserveParams{
		Subject: fcall.Subject(subject), Receipt: c.Receipt, Estimate: fcall.Micros(c.Estimate), Budgets: budgetsOf(c.Limits), Hold: c.Hold, AtMost: c.AtMost,
		Units: inTokens(c.InUnits, c.Unreserved),
	}
	return costCall{
		function: "reserve", subject: subject, params: p, queue: queued((*budget.Client).QueueReserve, p),
		answer: func(m *model.Cost) answer {
			r, changed, err := m.Reserve(subject, c)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			want := budget.ReserveResult{
				Allowed: r.Allowed, Duplicate: r.Duplicate, Reason: budget.ReserveReason(r.Reason), RetryAfter: r.RetryAfter, ResetAfter: r.ResetAfter, Budgets: rowsOf(r.Limits),
			}
			return answer{
				reply: want, changed: changed,
				refused: !r.Allowed && r.Reason != "too_large" && m.Covers(subject, c.Limits, r.RetryAfter), retry: r.RetryAfter, tick: time.Microsecond,
				passes: func(reply any) bool { return reply.(budget.ReserveResult).Allowed },
			}
		},
	}
}

func callSettle(subject, receipt string, actual, inUnits int64, limits []model.CostLimit, penalty time.Duration) costCall {
	p := budget.SettleParams{
		Subject: fcall.Subject(subject), Receipt: receipt, Actual: fcall.Micros(actual), Budgets: budgetsOf(limits), Penalty: penalty, Units: inTokens(inUnits, false),
	}
	return made("settle", p.Subject, p, (*budget.Client).QueueSettle, func(m *model.Cost, _ budget.SettleParams) (budget.SettleResult, bool, error) {
		r, changed, err := m.Settle(subject, receipt, actual, inUnits, limits, penalty)
		want := budget.SettleResult{Outcome: budget.SettleOutcome(r.Outcome), Exceeded: r.Exceeded, Penalty: r.Penalty}
		for _, row := range r.Limits {
			want.Budgets = append(want.Budgets, budget.SettleBudgetsResult{Spent: fcall.Micros(row.Spent), Remaining: fcall.Micros(row.Remaining)})
		}
		return want, changed, err
	})
}

func callPeek(subject string, c model.CostReserve) costCall {
	c.AtMost = false
	p := budget.PeekParams{
		Subject: fcall.Subject(subject), Receipt: c.Receipt, Estimate: fcall.Micros(c.Estimate), Budgets: budgetsOf(c.Limits), Units: inTokens(c.InUnits, c.Unreserved),
	}
	return costCall{
		function: "peek", subject: subject, params: p, queue: queued((*budget.Client).QueuePeek, p),
		answer: func(m *model.Cost) answer {
			r, err := m.Peek(subject, c)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			want := budget.PeekResult{
				Allowed: r.Allowed, Reason: budget.PeekReason(r.Reason), Status: budget.PeekStatus(r.Status), RetryAfter: r.RetryAfter, ResetAfter: r.ResetAfter, Budgets: rowsOf(r.Limits),
			}
			return answer{
				reply:   want,
				refused: !r.Allowed && r.Reason != "too_large" && m.Covers(subject, c.Limits, r.RetryAfter), retry: r.RetryAfter, tick: time.Microsecond,
				passes: func(reply any) bool { return reply.(budget.PeekResult).Allowed },
			}
		},
	}
}

func callCostReset(subject string, limits []model.CostLimit) costCall {
	p := budget.ResetParams{Subject: fcall.Subject(subject), Budgets: budgetsOf(limits)}
	return made("reset", p.Subject, p, (*budget.Client).QueueReset, func(m *model.Cost, _ budget.ResetParams) (budget.ResetResult, bool, error) {
		existed := m.Reset(subject, limits)
		return budget.ResetResult{Existed: existed}, existed, nil
	})
}

// Whatever the slices are, the spending of any window stays within the budget, and what is refused would not have fitted if every charge had
// counted a sixtieth of a window longer.
func TestCost_isExactToASlice(t *testing.T) {
	suite := suites.Budgets
	suite.Engines = suites.AtEnds
	suite.Each(t, func(t *testing.T, s *luatest.Server, client *budget.Client) {
		for seed, window := range []time.Duration{7 * time.Millisecond, time.Second, 10*time.Second + 13*time.Microsecond, time.Hour} {
			type charge struct {
				at     time.Time
				amount int64
			}
			const most = 100
			var charges []charge
			spent := func(span time.Duration) (sum int64) {
				for _, c := range charges {
					if s.Now().Sub(c.at) < span {
						sum += c.amount
					}
				}
				return sum
			}
			admitted, refused := 0, 0
			random := rand.New(rand.NewPCG(uint64(seed), 0))
			budgets := budget.PackBudget(budget.Budget{Budget: most, Window: window})
			for i := range 1000 {
				s.Advance(t, (time.Duration(random.ExpFloat64()*float64(window)) / 30).Truncate(time.Microsecond))
				estimate := random.Int64N(15)
				got, err := client.Reserve(t.Context(), budget.ReserveParams{
					Subject: fcall.Subject(window.String()), Receipt: fmt.Sprint(i), Estimate: fcall.Micros(estimate), Budgets: budgets,
				})
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case got.Allowed:
					admitted++
					charges = append(charges, charge{s.Now(), estimate})
					if sum := spent(window); sum > most {
						t.Fatalf("%s: %d of %d are spent in a window, after call %d", window, sum, most, i)
					}
				case spent(window+window/60)+estimate <= most:
					t.Fatalf("%s: %d is refused with %d of %d spent in a window and a slice, in call %d", window, estimate, spent(window+window/60), most, i)
				default:
					refused++
				}
				if got.Allowed && random.IntN(4) == 0 {
					last := &charges[len(charges)-1]
					last.amount = random.Int64N(estimate + 1)
					if _, err := client.Settle(t.Context(), budget.SettleParams{
						Subject: fcall.Subject(window.String()), Receipt: fmt.Sprint(i), Actual: fcall.Micros(last.amount), Budgets: budgets,
					}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if admitted < 100 || refused < 100 {
				t.Errorf("%s: %d admitted and %d refused: too few to tell", window, admitted, refused)
			}
		}
	})
}

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
	case onpath.Raced():
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
	of := func(l model.CostLimit) string { return l.Name + l.Window.String() }
	limits := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) model.CostLimit {
		l := model.CostLimit{Budget: rapid.Int64Range(0, 3000).Draw(t, "budget"), Window: span.Draw(t, "window")}
		if after := time.Duration(rapid.IntRange(-100, 100).Draw(t, "starts")) * span.Draw(t, "apart"); after > 0 { // half of them
			l.Window, l.Name = 0, "month"
			l.Previous, l.Start, l.After = luatest.Start.Add(-day), luatest.Start.Add(after/4), luatest.Start.Add(day)
			l.Next = l.Start.Add(span.Draw(t, "period"))
		}
		return l
	}), 1, 2, of).Draw(t, "limits")
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
		c := model.CostReserve{Receipt: fmt.Sprint("r", receipts), Estimate: amount, Limits: limits, Hold: hold}
		switch {
		case kind < 11:
			return callReserve("u1", c), move
		case kind < 12:
			c.Receipt = old
			return callReserve("u1", c), move
		case kind < 17:
			return callSettle("u1", old, amount%8, 0, limits[:min(1+kind%2, len(limits))], penalty), move
		}
		c.Receipt, c.Estimate = old, amount*int64(back)*5
		return callPeek("u1", c), move
	}
}
