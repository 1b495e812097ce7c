package luatest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/model"
)

// A proof that can not fail proves nothing: each of these models is wrong in one small way, and few histories find it.
func TestProperty_findsSmallMistakes(t *testing.T) {
	for name, wrong := range map[string]func(logParams, *model.SlidingLog) (model.SlidingLogResult, bool){
		"a window that is closed at both ends": func(p logParams, m *model.SlidingLog) (model.SlidingLogResult, bool) {
			return m.Take(string(p.Bucket), model.SlidingLogCall{Limit: p.Limit, Window: p.Window + time.Microsecond, Receipt: p.Receipt, Dedup: p.Dedup, Refresh: p.Refresh})
		},
		"a duplicate that renews its receipt": func(p logParams, m *model.SlidingLog) (model.SlidingLogResult, bool) {
			return m.Take(string(p.Bucket), model.SlidingLogCall{Limit: p.Limit, Window: p.Window, Receipt: p.Receipt, Dedup: p.Dedup, Refresh: true})
		},
		"one admission too many": func(p logParams, m *model.SlidingLog) (model.SlidingLogResult, bool) {
			return m.Take(string(p.Bucket), model.SlidingLogCall{Limit: p.Limit + 1, Window: p.Window, Receipt: p.Receipt, Dedup: p.Dedup, Refresh: p.Refresh})
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
			f.suite.Each(t, func(t *testing.T, s *luatest.Server, client *ratelimit.Client) {
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
	log, bucket := slidingLogInvariant(), gcraInvariant()
	two := logParams{Bucket: "u1", Limit: 2, Window: time.Second}
	tokens := gcraParams{Bucket: "u1", Limit: 2, Period: time.Second, Burst: 1}
	for i, c := range []struct {
		after       time.Duration
		log, bucket string
	}{
		{0, "", ""},
		{500 * time.Millisecond, "", ""},
		{time.Second - 2*time.Millisecond, "3 admissions in 998ms", "2 tokens taken in 498ms"},
	} {
		at := luatest.Start.Add(c.after)
		if got := log(at, "u1", two, logResult{Allowed: true}); !strings.HasPrefix(got, c.log) || (got == "") != (c.log == "") {
			t.Errorf("sliding_log, admission %d: %q, want %q", i+1, got, c.log)
		}
		if got := bucket(at, "u1", tokens, gcraResult{Allowed: true}); !strings.HasPrefix(got, c.bucket) || (got == "") != (c.bucket == "") {
			t.Errorf("gcra, token %d: %q, want %q", i+1, got, c.bucket)
		}
	}
}

func TestLinearizable_findsWhatHasNoOrder(t *testing.T) {
	one := takeFromLog(logParams{Bucket: "u1", Limit: 1, Window: time.Second})
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
