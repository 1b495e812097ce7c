package property_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/override"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/model"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type overrideCall = call[*override.Client, *model.Override]

var overrideFamily = family[*override.Client, *model.Override]{
	name:  "override",
	suite: suites.Overrides,
	model: model.NewOverride,
	keys:  []storedKey{{"overrides", "hash"}},
	draw:  drawOverride,
}

func drawOverride(t *rapid.T) plan[*override.Client, *model.Override] {
	spans := []time.Duration{time.Millisecond, time.Second, time.Minute, time.Hour}
	subject := rapid.SampledFrom([]string{"user=1", "user=2", "ip=203.0.113.7", "ip=203.0.113.0/24", "key=a"})
	effect := rapid.SampledFrom([]override.SetEffect{"allow", "deny", "multiply", "multiply", "add", "add", "add"})
	budget := rapid.SampledFrom([]string{"month", "9 \x00%d", "tokens"})
	text := rapid.SampledFrom([]string{"a", "ann@host", "ticket 811, a customer", "1 2", "\x00\n%d"})
	return plan[*override.Client, *model.Override]{spans: spans, call: func(t *rapid.T) overrideCall {
		bucket := fcall.Subject(rapid.SampledFrom(subjects).Draw(t, "bucket"))
		switch rapid.IntRange(0, 9).Draw(t, "function") {
		default:
			p := override.SetParams{
				Subject: bucket, Target: subject.Draw(t, "subject"), Effect: effect.Draw(t, "effect"), Duration: rapid.SampledFrom(spans).Draw(t, "duration"),
				By: text.Draw(t, "by"), Reason: text.Draw(t, "reason"), Factor: rapid.SampledFrom([]int64{0, 0, 1, 10, 1_000_000}).Draw(t, "factor"),
			}
			if p.Effect == override.SetEffectAdd {
				p.Budget, p.Unit = budget.Draw(t, "budget"), rapid.SampledFrom([]string{"", "tokens", "1 2"}).Draw(t, "unit")
				p.Next = rapid.SampledFrom([]time.Time{{}, luatest.Start.Add(time.Second), luatest.Start.Add(time.Hour)}).Draw(t, "next")
				p.Amount = rapid.SampledFrom([]fcall.Micros{1, 500_000_000, 1_000_000_000_000_000}).Draw(t, "amount")
			}
			return setOne(p)
		case 4, 5:
			p := override.ClearParams{Subject: bucket, Target: subject.Draw(t, "subject")}
			if rapid.Bool().Draw(t, "of a budget") {
				p.Budget = budget.Draw(t, "budget")
			}
			return clearOne(p)
		case 6:
			return clearAll(override.ClearParams{Subject: bucket, All: true})
		case 7, 8, 9:
			known := rapid.SampledFrom([]*int64{nil, new(int64(0)), new(int64(1767323045678901))}).Draw(t, "known")
			return listAll(override.ListParams{Subject: bucket, Known: known})
		}
	}}
}

func setOne(p override.SetParams) overrideCall {
	return overrideCall{
		function: "set", subject: string(p.Subject), params: p,
		queue: queued((*override.Client).QueueSet, p),
		answer: func(m *model.Override) answer {
			row := model.OverrideRow{Subject: p.Target, Effect: string(p.Effect), By: p.By, Reason: p.Reason, Factor: p.Factor, Budget: p.Budget, Unit: p.Unit, Amount: int64(p.Amount)}
			r, err := m.Set(string(p.Subject), row, p.Duration, p.Next)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			return answer{reply: override.SetResult(r), changed: true}
		},
	}
}

func clearOne(p override.ClearParams) overrideCall {
	return overrideCall{
		function: "clear", subject: string(p.Subject), params: p,
		queue: queued((*override.Client).QueueClear, p),
		answer: func(m *model.Override) answer {
			budget := &p.Budget
			if p.Budget == "" {
				budget = nil
			}
			existed, left, changed := m.Clear(string(p.Subject), p.Target, budget)
			return answer{reply: override.ClearResult{Existed: existed, Overrides: left}, changed: changed}
		},
	}
}

func clearAll(p override.ClearParams) overrideCall {
	return overrideCall{
		function: "clear", subject: string(p.Subject), params: p,
		queue: queued((*override.Client).QueueClear, p),
		answer: func(m *model.Override) answer {
			existed := m.ClearAll(string(p.Subject))
			return answer{reply: override.ClearResult{Existed: existed}, changed: existed}
		},
	}
}

func listAll(p override.ListParams) overrideCall {
	return overrideCall{
		function: "list", subject: string(p.Subject), params: p,
		queue: queued((*override.Client).QueueList, p),
		answer: func(m *model.Override) answer {
			r := override.ListResult{Overrides: []override.ListOverridesResult{}}
			var rows []model.OverrideRow
			r.Changed, r.Version, rows = m.List(string(p.Subject), p.Known)
			for _, row := range rows {
				r.Overrides = append(r.Overrides, override.ListOverridesResult{
					Subject: row.Subject, Effect: override.ListOverridesEffect(row.Effect), Factor: row.Factor, Left: m.Left(row), Ends: row.Ends(), Set: row.Set(),
					By: row.By, Reason: row.Reason, Budget: row.Budget, Unit: row.Unit, Amount: fcall.Micros(row.Amount),
				})
			}
			return answer{reply: r}
		},
	}
}
