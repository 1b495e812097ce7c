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
	for name, wrong := range map[string]func(*model.CheckLimit, *time.Duration){
		"a window that is closed at both ends": func(l *model.CheckLimit, _ *time.Duration) { l.Window += time.Microsecond },
		"a receipt that is known longer":       func(_ *model.CheckLimit, dedup *time.Duration) { *dedup = 2 * time.Second },
		"one admission too many":               func(l *model.CheckLimit, _ *time.Duration) { l.Limit++ },
	} {
		t.Run(name, func(t *testing.T) {
			f := limitFamily
			f.suite.Engines = func(testing.TB) []luatest.Engine { return []luatest.Engine{{Name: "embedded"}} }
			draw := f.draw
			f.draw = func(t *rapid.T) plan[*ratelimit.Client, *model.Check] {
				p := draw(t)
				right := p.call
				p.call = func(t *rapid.T) limitCall {
					c := right(t)
					if p, ok := c.params.(logParams); ok {
						l, dedup := model.CheckLimit{Kind: "sliding_log", Name: p.Name, Limit: p.Limit, Window: p.Window, Cost: *p.Cost}, p.Dedup
						wrong(&l, &dedup)
						c.answer = callLog(c.subject, l, p.Receipt, dedup).answer
					}
					return c
				}
				return p
			}
			f.each(t, func(t *testing.T, s *luatest.Server, client *ratelimit.Client) {
				p := player[*ratelimit.Client, *model.Check]{family: f, server: s, client: client}
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
	window := model.CheckLimit{Kind: "fixed_window", Limit: 2, Window: time.Second, Cost: 2}
	took := func(n int64) ratelimit.FixedWindowResult { return ratelimit.FixedWindowResult{Allowed: true, Taken: n} }
	log := logParams{Limit: 2, Window: time.Second, Cost: cost(1)}
	free := rowOf(window)
	free.Cost = cost(0)
	type told struct {
		after         time.Duration
		params, reply any
		want          string
	}
	for name, tells := range map[string][]told{
		"sliding_log": {
			{0, log, logResult{Allowed: true}, ""},
			{500 * time.Millisecond, log, logResult{Allowed: true}, ""},
			{998 * time.Millisecond, log, logResult{Allowed: true}, "sliding_log: 3 taken within 1s"},
		},
		"fixed_window": {
			{0, one{CheckLimit: window}, took(2), ""},
			{time.Millisecond, one{CheckLimit: window}, took(2), ""}, // one window may end as another begins
			{2 * time.Millisecond, one{CheckLimit: window}, took(1), "fixed_window: 5 taken within 1s"},
		},
		"check": {
			{0, checkParams{Limits: []checkLimit{free}}, checkResult{Allowed: true, Limits: []checkRow{{}}}, "the call is not allowed exactly if"},
		},
	} {
		holds := limitInvariant()
		for i, tell := range tells {
			got := holds(luatest.Start.Add(tell.after), "u1", tell.params, tell.reply)
			if !strings.HasPrefix(got, tell.want) || (got == "") != (tell.want == "") {
				t.Errorf("%s, call %d: %q, want %q", name, i+1, got, tell.want)
			}
		}
	}
}

func TestLinearizable_findsWhatHasNoOrder(t *testing.T) {
	one := callLog("u1", model.CheckLimit{Kind: "sliding_log", Limit: 1, Window: time.Second, Cost: 1}, "", 0)
	first := outcome{reply: logResult{Allowed: true, Count: 1, ResetAfter: time.Second, At: luatest.Start.Local()}}
	refused := outcome{reply: logResult{Count: 1, RetryAfter: time.Second, ResetAfter: time.Second, At: luatest.Start.Local()}}
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
		if got := porcupine.CheckOperationsTimeout(limitFamily.sequential(), c.ops, time.Minute); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
