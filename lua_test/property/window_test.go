package property_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/model"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type windowCall = call[*ratelimit.Client, *model.FixedWindow]

var fixedWindowFamily = family[*ratelimit.Client, *model.FixedWindow]{
	name:      "fixed_window",
	suite:     suites.Limiters,
	model:     model.NewFixedWindow,
	keys:      []storedKey{{"window", "string"}},
	draw:      drawFixedWindow,
	invariant: fixedWindowInvariant,
}

// A windowDraw is how calls in windows are drawn: a subject, a limit and a cost that may be above it.
type windowDraw struct {
	limits []windowParams
}

func drawWindows(t *rapid.T, windows []time.Duration) (d windowDraw) {
	d.limits = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) windowParams {
		return windowParams{
			Limit: rapid.OneOf(
				rapid.SampledFrom([]int64{1, 2, 3, 3, 5, 8, 2_000_000, 9_999_999, 10_000_000, largest}), rapid.Int64Range(1, 1_000_000), rapid.Int64Range(1, largest),
			).Draw(t, "limit"),
			Window: rapid.OneOf(
				rapid.SampledFrom(windows), rapid.SampledFrom(windows),
				rapid.Map(rapid.Int64Range(1, int64(windows[len(windows)-1])), func(n int64) time.Duration { return time.Duration(n) }),
			).Draw(t, "window"),
		}
	}), 1, 8).Draw(t, "limits")
	return d
}

func (d windowDraw) spans() (spans []time.Duration) {
	for _, l := range d.limits {
		spans = append(spans, l.Window)
	}
	return spans
}

func (d windowDraw) params(t *rapid.T) windowParams {
	p := rapid.SampledFrom(d.limits).Draw(t, "limits")
	p.Subject = fcall.Subject(rapid.SampledFrom(subjects).Draw(t, "subject"))
	p.Cost = rapid.SampledFrom([]*int64{nil, nil, nil, cost(0), cost(1), cost(2), cost(max(p.Limit/2, 1)), cost(p.Limit), cost(min(p.Limit+1, largest)), cost(p.Limit - p.Limit/3)}).Draw(t, "cost")
	return p
}

// refunded is the refund of a call with a cost: at least 1.
func refunded(cost *int64) int64 { return max(modelCost(cost), 1) }

// refundExpires is mostly not given, and otherwise around the time of the calls.
func refundExpires(t *rapid.T) time.Time {
	after := rapid.SampledFrom([]time.Duration{-1, -1, -1, 0, time.Microsecond, time.Millisecond, time.Second, time.Minute, time.Hour, 100 * day}).Draw(t, "expires")
	if after < 0 {
		return time.Time{}
	}
	return luatest.Start.Add(after)
}

func drawFixedWindow(t *rapid.T) plan[*ratelimit.Client, *model.FixedWindow] {
	d := drawWindows(t, []time.Duration{time.Microsecond, 999 * time.Microsecond, time.Millisecond, 1500 * time.Microsecond, time.Second, 10 * time.Second, time.Minute + time.Nanosecond, 3650 * day})
	return plan[*ratelimit.Client, *model.FixedWindow]{spans: d.spans(), steady: len(d.limits) == 1, call: func(t *rapid.T) windowCall {
		p := d.params(t)
		switch rapid.IntRange(0, 19).Draw(t, "function") {
		default:
			return takeFromWindow(p)
		case 11, 12:
			return takeFromWindowAtMost(ratelimit.FixedWindowAtMostParams{Subject: p.Subject, Limit: p.Limit, Window: p.Window, Most: refunded(p.Cost)})
		case 13, 14, 15:
			return peekIntoWindow(ratelimit.FixedWindowPeekParams(p))
		case 16, 17, 18:
			return refundToWindow(ratelimit.FixedWindowRefundParams{Subject: p.Subject, Limit: p.Limit, Window: p.Window, Cost: refunded(p.Cost), Expires: refundExpires(t)})
		case 19:
			return resetWindow(ratelimit.FixedWindowResetParams{Subject: p.Subject})
		}
	}}
}

func takeFromWindow(p windowParams) windowCall {
	return windowCall{
		function: "fixed_window", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueFixedWindow, p),
		answer: func(m *model.FixedWindow) answer {
			r, changed, err := m.Take(string(p.Subject), model.WindowCall{Limit: p.Limit, Window: p.Window, Cost: modelCost(p.Cost)})
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			return answer{
				reply: windowResult(r), changed: changed,
				refused: !r.Allowed, retry: r.RetryAfter, tick: time.Millisecond,
				passes: func(reply any) bool { return reply.(windowResult).Allowed },
			}
		},
	}
}

func takeFromWindowAtMost(p ratelimit.FixedWindowAtMostParams) windowCall {
	return windowCall{
		function: "fixed_window_at_most", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueFixedWindowAtMost, p),
		answer: func(m *model.FixedWindow) answer {
			r, changed := m.TakeAtMost(string(p.Subject), model.WindowCall{Limit: p.Limit, Window: p.Window, Cost: p.Most})
			return answer{
				reply: ratelimit.FixedWindowAtMostResult(r), changed: changed,
				refused: !r.Allowed, retry: r.RetryAfter, tick: time.Millisecond,
				passes: func(reply any) bool { return reply.(ratelimit.FixedWindowAtMostResult).Allowed },
			}
		},
	}
}

func peekIntoWindow(p ratelimit.FixedWindowPeekParams) windowCall {
	return windowCall{
		function: "fixed_window_peek", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueFixedWindowPeek, p),
		answer: func(m *model.FixedWindow) answer {
			r, err := m.Peek(string(p.Subject), model.WindowCall{Limit: p.Limit, Window: p.Window, Cost: modelCost(p.Cost)})
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			return answer{
				reply:   ratelimit.FixedWindowPeekResult(r),
				refused: !r.Allowed, retry: r.RetryAfter, tick: time.Millisecond,
				passes: func(reply any) bool { return reply.(ratelimit.FixedWindowPeekResult).Allowed },
			}
		},
	}
}

func refundToWindow(p ratelimit.FixedWindowRefundParams) windowCall {
	return windowCall{
		function: "fixed_window_refund", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueFixedWindowRefund, p),
		answer: func(m *model.FixedWindow) answer {
			r, changed := m.Refund(string(p.Subject), model.WindowCall{Limit: p.Limit, Window: p.Window, Cost: p.Cost}, p.Expires)
			return answer{reply: ratelimit.FixedWindowRefundResult(r), changed: changed}
		},
	}
}

func resetWindow(p ratelimit.FixedWindowResetParams) windowCall {
	return windowCall{
		function: "fixed_window_reset", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueFixedWindowReset, p),
		answer: func(m *model.FixedWindow) answer {
			existed := m.Reset(string(p.Subject))
			return answer{reply: ratelimit.FixedWindowResetResult{Existed: existed}, changed: existed}
		},
	}
}

// A windowTaken is what was taken in one window, by when that begins.
type windowTaken struct {
	rule   windowParams
	begins time.Time
	taken  int64
}

// windowsTaken holds, of windows that one call after another names by when they begin, that no two overlap and that none has
// more taken than its limit. It says nothing across a clock that went back, another limit, a refund or a reset.
type windowsTaken struct {
	last  map[string]windowTaken
	clock time.Time
}

// at gets every call.
func (w *windowsTaken) at(now time.Time) {
	if w.last == nil || now.Before(w.clock) {
		w.last = map[string]windowTaken{}
	}
	w.clock = now
}

func (w *windowsTaken) took(subject string, rule windowParams, begins time.Time, cost int64) (problem string) {
	length := wholeMillisecondsOf(rule.Window)
	rule.Subject, rule.Cost = "", nil
	one, known := w.last[subject]
	switch {
	case !known || one.rule != rule:
		one, known = windowTaken{rule: rule, begins: begins}, false
	case begins.Before(one.begins), begins.After(one.begins) && begins.Before(one.begins.Add(length)):
		return fmt.Sprintf("a window of %s begins %s after another", length, begins.Sub(one.begins))
	case begins.After(one.begins):
		one.begins, one.taken = begins, 0
	}
	one.taken += cost
	w.last[subject] = one
	// Charges before the first call of a stretch are not known.
	if known && one.taken > rule.Limit {
		return fmt.Sprintf("%d taken in a window of %s, and the limit is %d", one.taken, length, rule.Limit)
	}
	return ""
}

// wholeMilliseconds is the clock where the tick is one, and its time.
func wholeMilliseconds(now time.Time) time.Time { return time.UnixMilli(now.UnixMilli()).UTC() }

func wholeMillisecondsOf(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// fixedWindowInvariant holds that no two windows of one length overlap, and each caller to its own limit over what all have
// taken: when a call is admitted, no more than its limit was taken since its window began, from the times of the calls alone. It
// says nothing across a clock that went back, a refund or a reset.
func fixedWindowInvariant() func(time.Time, string, any, any) string {
	type taken struct {
		at   time.Time
		cost int64
	}
	type window struct {
		begins time.Time
		first  int // the number of its caller's first admission in it
	}
	type stretch struct {
		taken []taken
		last  map[time.Duration]window // the last one of a length
	}
	stretches, clock := map[string]*stretch{}, time.Time{}
	return func(now time.Time, subject string, params, reply any) string {
		if now.Before(clock) {
			clear(stretches)
		}
		clock = now
		switch params.(type) {
		case windowParams, ratelimit.FixedWindowAtMostParams:
			p, r, took := tookFromWindow(params, reply)
			if took == 0 {
				return ""
			}
			s := stretches[subject]
			if s == nil {
				s = &stretch{last: map[time.Duration]window{}}
				stretches[subject] = s
			}
			length := wholeMillisecondsOf(p.Window)
			begins := wholeMilliseconds(now).Add(r.ResetAfter - length)
			last, ok := s.last[length]
			if ok && !begins.Equal(last.begins) && begins.Before(last.begins.Add(length)) {
				return fmt.Sprintf("a window of %s begins %s after another", length, begins.Sub(last.begins))
			}
			s.taken = append(s.taken, taken{wholeMilliseconds(now), took})
			if !ok || !begins.Equal(last.begins) {
				last = window{begins, len(s.taken) - 1}
				s.last[length] = last
			}
			sum := int64(0)
			for n, one := range s.taken {
				// Of the millisecond in which it begins it has what came after it began.
				if one.at.After(begins) || one.at.Equal(begins) && n >= last.first {
					sum += one.cost
				}
			}
			if sum > p.Limit {
				return fmt.Sprintf("%d taken in a window of %s, and the limit of this caller is %d", sum, length, p.Limit)
			}
		case ratelimit.FixedWindowRefundParams, ratelimit.FixedWindowResetParams:
			delete(stretches, subject)
		}
		return ""
	}
}

// tookFromWindow returns what a call took, as one of fixed_window.
func tookFromWindow(params, reply any) (p windowParams, r windowResult, took int64) {
	switch its := params.(type) {
	case windowParams:
		p, r = its, reply.(windowResult)
		if r.Allowed {
			took = modelCost(p.Cost)
		}
	case ratelimit.FixedWindowAtMostParams:
		p, took = windowParams{Limit: its.Limit, Window: its.Window}, reply.(ratelimit.FixedWindowAtMostResult).Taken
		r.ResetAfter = reply.(ratelimit.FixedWindowAtMostResult).ResetAfter
	}
	return p, r, took
}
