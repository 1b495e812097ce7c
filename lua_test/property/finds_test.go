package property_test

import (
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/model"
)

// A proof that cannot fail proves nothing: each of these models is wrong in one small way, and few histories find it.
func TestProperty_findsSmallMistakes(t *testing.T) {
	for name, wrong := range map[string]func(logParams, *model.SlidingLog) (model.SlidingLogResult, bool){
		"a window that is closed at both ends": func(p logParams, m *model.SlidingLog) (model.SlidingLogResult, bool) {
			return m.Take(string(p.Subject), model.SlidingLogCall{Limit: p.Limit, Window: p.Window + time.Microsecond, Receipt: p.Receipt, Dedup: p.Dedup, Refresh: p.Refresh})
		},
		"a duplicate that renews its receipt": func(p logParams, m *model.SlidingLog) (model.SlidingLogResult, bool) {
			return m.Take(string(p.Subject), model.SlidingLogCall{Limit: p.Limit, Window: p.Window, Receipt: p.Receipt, Dedup: p.Dedup, Refresh: true})
		},
		"one admission too many": func(p logParams, m *model.SlidingLog) (model.SlidingLogResult, bool) {
			return m.Take(string(p.Subject), model.SlidingLogCall{Limit: p.Limit + 1, Window: p.Window, Receipt: p.Receipt, Dedup: p.Dedup, Refresh: p.Refresh})
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := slidingLogFamily
			f.suite.Engines = func(testing.TB) []luatest.Engine { return []luatest.Engine{{Name: "embedded"}} }
			draw := f.draw
			f.draw = func(t *rapid.T) plan[*ratelimit.Client, *model.SlidingLog] {
				p := draw(t)
				right := p.call
				p.call = func(t *rapid.T) logCall {
					c := right(t)
					if params, ok := c.params.(logParams); ok {
						c.answer = func(m *model.SlidingLog) answer {
							r, changed := wrong(params, m)
							return answer{reply: logResult(r), changed: changed}
						}
					}
					return c
				}
				return p
			}
			f.each(t, func(t *testing.T, s *luatest.Server, client *ratelimit.Client) {
				p := player[*ratelimit.Client, *model.SlidingLog]{family: f, server: s, client: client}
				histories := rapid.Custom(f.history)
				for seed := range 200 {
					if problem := p.play(t, histories.Example(seed)); problem != "" {
						t.Logf("found in history %d", seed+1)
						return
					}
				}
				t.Error("200 histories do not find it")
			})
		})
	}
}

// Without the model: the times of the admissions alone say that there were too many.
func TestProperty_invariantsNeedNoModel(t *testing.T) {
	one := model.CheckRow{Allowed: true, ResetAfter: time.Second}
	check := func(row model.CheckRow) checkResult {
		return checkResult{Allowed: true, Limits: []checkRow{checkRow(row)}}
	}
	window := checkLimit{Name: "a", Kind: ratelimit.LimitKindFixedWindow, Limit: 2, Window: time.Second}
	free := window
	free.Cost = cost(0)
	type told struct {
		after         time.Duration
		params, reply any
		want          string
	}
	for name, c := range map[string]struct {
		invariant func(time.Time, string, any, any) string
		tells     []told
	}{
		"sliding_log": {slidingLogInvariant(), []told{
			{0, logParams{Limit: 2, Window: time.Second}, logResult{Allowed: true}, ""},
			{500 * time.Millisecond, logParams{Limit: 2, Window: time.Second}, logResult{Allowed: true}, ""},
			{998 * time.Millisecond, logParams{Limit: 2, Window: time.Second}, logResult{Allowed: true}, "3 admissions within 1s"},
		}},
		"sliding_log, after a refund": {slidingLogInvariant(), []told{
			{0, logParams{Limit: 2, Window: time.Second, Receipt: "r"}, logResult{Allowed: true}, ""},
			{0, logParams{Limit: 2, Window: time.Second}, logResult{Allowed: true}, ""},
			{0, ratelimit.SlidingLogRefundParams{Receipt: "r"}, ratelimit.SlidingLogRefundResult{Refunded: true}, ""},
			{0, logParams{Limit: 2, Window: time.Second}, logResult{Allowed: true}, ""},
			{0, logParams{Limit: 2, Window: time.Second}, logResult{Allowed: true}, "3 admissions within 1s"},
		}},
		"sliding_log, over what another caller took": {slidingLogInvariant(), []told{
			{0, logParams{Limit: 2, Window: time.Hour}, logResult{Allowed: true}, ""},
			{0, logParams{Limit: 2, Window: time.Second}, logResult{Allowed: true}, ""},
			{time.Minute, logParams{Limit: 2, Window: time.Second}, logResult{Allowed: true}, ""},
			{time.Minute, logParams{Limit: 2, Window: time.Hour}, logResult{Allowed: true}, "4 admissions within 1h0m0s"},
		}},
		"fixed_window, over what another caller took": {fixedWindowInvariant(), []told{
			{0, windowParams{Limit: 2, Window: time.Hour}, windowResult{Allowed: true, ResetAfter: time.Hour}, ""},
			{0, windowParams{Limit: 2, Window: time.Second}, windowResult{Allowed: true, ResetAfter: time.Second}, ""},
			{time.Minute, windowParams{Limit: 2, Window: time.Hour}, windowResult{Allowed: true, ResetAfter: time.Hour - time.Minute}, "3 taken in a window of 1h0m0s"},
		}},
		"gcra": {gcraInvariant(), []told{
			{0, gcraParams{Limit: 2, Period: time.Second, Burst: 1}, gcraResult{Allowed: true}, ""},
			{500 * time.Millisecond, gcraParams{Limit: 2, Period: time.Second, Burst: 1}, gcraResult{Allowed: true}, ""},
			{998 * time.Millisecond, gcraParams{Limit: 2, Period: time.Second, Burst: 1}, gcraResult{Allowed: true}, "2 tokens taken in 498ms"},
		}},
		"fixed_window, too many": {fixedWindowInvariant(), []told{
			{0, windowParams{Limit: 2, Window: time.Second, Cost: cost(2)}, windowResult{Allowed: true, ResetAfter: time.Second}, ""},
			{time.Second, windowParams{Limit: 2, Window: time.Second, Cost: cost(2)}, windowResult{Allowed: true, ResetAfter: time.Second}, ""},
			{1500 * time.Millisecond, windowParams{Limit: 2, Window: time.Second}, windowResult{Allowed: true, ResetAfter: 500 * time.Millisecond}, "3 taken in a window of 1s"},
		}},
		"fixed_window, a second window before the first has ended": {fixedWindowInvariant(), []told{
			{0, windowParams{Limit: 2, Window: time.Second}, windowResult{Allowed: true, ResetAfter: time.Second}, ""},
			{500 * time.Millisecond, windowParams{Limit: 2, Window: time.Second}, windowResult{Allowed: true, ResetAfter: time.Second}, "a window of 1s begins 500ms after another"},
		}},
		"sliding_counter": {slidingCounterInvariant(), []told{
			{0, counterParams{Limit: 2, Window: time.Second, Cost: cost(2)}, counterResult{Allowed: true, ResetAfter: 2 * time.Second}, ""},
			{500 * time.Millisecond, counterParams{Limit: 2, Window: time.Second}, counterResult{Allowed: true, ResetAfter: 1500 * time.Millisecond}, "3 taken in a window of 1s"},
		}},
		"check": {checkInvariant(), []told{
			{0, checkParams{Limits: []checkLimit{window}}, check(one), ""},
			{0, checkParams{Limits: []checkLimit{window}}, check(one), ""},
			{0, checkParams{Limits: []checkLimit{window}}, check(one), "limit 0: 3 taken in a window of 1s"},
			{0, checkParams{Limits: []checkLimit{free}}, check(model.CheckRow{}), "the call is not allowed exactly if"},
		}},
	} {
		for i, tell := range c.tells {
			got := c.invariant(luatest.Start.Add(tell.after), "u1", tell.params, tell.reply)
			if !strings.HasPrefix(got, tell.want) || (got == "") != (tell.want == "") {
				t.Errorf("%s, call %d: %q, want %q", name, i+1, got, tell.want)
			}
		}
	}
}

func TestLinearizable_findsWhatHasNoOrder(t *testing.T) {
	one := takeFromLog(logParams{Subject: "u1", Limit: 1, Window: time.Second})
	first := outcome{reply: logResult{Allowed: true, Count: 1, ResetAfter: time.Second}}
	refused := outcome{reply: logResult{Count: 1, RetryAfter: time.Second, ResetAfter: time.Second}}
	op := func(who int, call, end int64, o outcome) porcupine.Operation {
		return porcupine.Operation{ClientId: who, Input: one, Call: call, Output: o, Return: end}
	}
	for _, c := range []struct {
		name string
		ops  []porcupine.Operation
		want porcupine.CheckResult
	}{
		{"side by side, either may be first", []porcupine.Operation{op(0, 1, 9, refused), op(1, 2, 8, first)}, porcupine.Ok},
		{"two that pass a limit of one", []porcupine.Operation{op(0, 1, 9, first), op(1, 2, 8, first)}, porcupine.Illegal},
		{"refused before the first began", []porcupine.Operation{op(0, 1, 2, refused), op(1, 3, 4, first)}, porcupine.Illegal},
	} {
		if got := porcupine.CheckOperationsTimeout(slidingLogFamily.sequential(), c.ops, time.Minute); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
