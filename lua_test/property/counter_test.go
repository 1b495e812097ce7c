package property_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/lua_test/internal/model"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type counterCall = call[*ratelimit.Client, *model.SlidingCounter]

var slidingCounterFamily = family[*ratelimit.Client, *model.SlidingCounter]{
	name:      "sliding_counter",
	suite:     suites.Limiters,
	model:     model.NewSlidingCounter,
	keys:      []storedKey{{"counter", "string"}},
	draw:      drawSlidingCounter,
	invariant: slidingCounterInvariant,
}

func drawSlidingCounter(t *rapid.T) plan[*ratelimit.Client, *model.SlidingCounter] {
	d := drawWindows(t, []time.Duration{time.Microsecond, 999 * time.Microsecond, 3 * time.Millisecond, 6500 * time.Microsecond, time.Second, 10 * time.Second, time.Minute + time.Nanosecond, 90 * day})
	return plan[*ratelimit.Client, *model.SlidingCounter]{spans: d.spans(), steady: len(d.limits) == 1, call: func(t *rapid.T) counterCall {
		p := d.params(t)
		switch rapid.IntRange(0, 19).Draw(t, "function") {
		default:
			return takeFromCounter(counterParams(p))
		case 13, 14, 15:
			return peekAtCounter(ratelimit.SlidingCounterPeekParams(p))
		case 16, 17, 18:
			return refundToCounter(ratelimit.SlidingCounterRefundParams{Subject: p.Subject, Limit: p.Limit, Window: p.Window, Cost: refunded(p.Cost)})
		case 19:
			return resetCounter(ratelimit.SlidingCounterResetParams{Subject: p.Subject})
		}
	}}
}

func takeFromCounter(p counterParams) counterCall {
	return counterCall{
		function: "sliding_counter", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueSlidingCounter, p),
		answer: func(m *model.SlidingCounter) answer {
			r, changed, err := m.Take(string(p.Subject), model.WindowCall{Limit: p.Limit, Window: p.Window, Cost: modelCost(p.Cost)})
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			return answer{
				reply: counterResult(r), changed: changed,
				refused: !r.Allowed, retry: r.RetryAfter, tick: time.Millisecond,
				passes: func(reply any) bool { return reply.(counterResult).Allowed },
			}
		},
	}
}

func peekAtCounter(p ratelimit.SlidingCounterPeekParams) counterCall {
	return counterCall{
		function: "sliding_counter_peek", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueSlidingCounterPeek, p),
		answer: func(m *model.SlidingCounter) answer {
			r, err := m.Peek(string(p.Subject), model.WindowCall{Limit: p.Limit, Window: p.Window, Cost: modelCost(p.Cost)})
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			return answer{
				reply:   ratelimit.SlidingCounterPeekResult(r),
				refused: !r.Allowed, retry: r.RetryAfter, tick: time.Millisecond,
				passes: func(reply any) bool { return reply.(ratelimit.SlidingCounterPeekResult).Allowed },
			}
		},
	}
}

func refundToCounter(p ratelimit.SlidingCounterRefundParams) counterCall {
	return counterCall{
		function: "sliding_counter_refund", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueSlidingCounterRefund, p),
		answer: func(m *model.SlidingCounter) answer {
			r, changed := m.Refund(string(p.Subject), model.WindowCall{Limit: p.Limit, Window: p.Window, Cost: p.Cost})
			return answer{reply: ratelimit.SlidingCounterRefundResult(r), changed: changed}
		},
	}
}

func resetCounter(p ratelimit.SlidingCounterResetParams) counterCall {
	return counterCall{
		function: "sliding_counter_reset", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueSlidingCounterReset, p),
		answer: func(m *model.SlidingCounter) answer {
			existed := m.Reset(string(p.Subject))
			return answer{reply: ratelimit.SlidingCounterResetResult{Existed: existed}, changed: existed}
		},
	}
}

// slidingCounterInvariant: after an admission all is forgotten two windows after this one began; and whatever calls with
// other limits take, those with one take at most twice their limit in any span of their window's length.
func slidingCounterInvariant() func(time.Time, string, any, any) string {
	type caller struct {
		subject string
		limit   int64
		window  time.Duration
	}
	type taken struct {
		at   time.Time
		cost int64
	}
	var windows windowsTaken
	spans, clock := map[caller][]taken{}, time.Time{}
	return func(now time.Time, subject string, params, reply any) string {
		windows.at(now)
		if now.Before(clock) {
			clear(spans)
		}
		clock = now
		switch p := params.(type) {
		case counterParams:
			r := reply.(counterResult)
			if !r.Allowed || modelCost(p.Cost) == 0 {
				return ""
			}
			length := wholeMillisecondsOf(p.Window)
			its := caller{subject, p.Limit, p.Window}
			spans[its] = append(spans[its], taken{wholeMilliseconds(now), modelCost(p.Cost)})
			sum := int64(0)
			for _, one := range slices.Backward(spans[its]) {
				if wholeMilliseconds(now).Sub(one.at) >= length {
					break
				}
				if sum += one.cost; sum > 2*p.Limit {
					return fmt.Sprintf("%d taken within %s, and the limit is %d", sum, length, p.Limit)
				}
			}
			return windows.took(subject, windowParams(p), wholeMilliseconds(now).Add(r.ResetAfter-2*length), modelCost(p.Cost))
		case ratelimit.SlidingCounterRefundParams, ratelimit.SlidingCounterResetParams:
			delete(windows.last, subject)
			maps.DeleteFunc(spans, func(c caller, _ []taken) bool { return c.subject == subject })
		}
		return ""
	}
}
