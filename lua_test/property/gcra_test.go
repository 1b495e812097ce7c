package property_test

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/lua_test/internal/model"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type gcraCall = call[*ratelimit.Client, *model.GCRA]

var gcraFamily = family[*ratelimit.Client, *model.GCRA]{
	name:      "gcra",
	suite:     suites.Limiters,
	model:     model.NewGCRA,
	keys:      []storedKey{{"gcra", "string"}},
	draw:      drawGCRA,
	invariant: gcraInvariant,
}

type gcraLimit struct {
	limit  int64
	period time.Duration
	burst  int64
}

// gcraLimits has buckets of each kind: by expiry, by value and by fraction; and the smallest and largest of each number.
var gcraLimits = []gcraLimit{
	{3, 3 * time.Second, 0},
	{10, time.Second, 3},
	{1, time.Millisecond, 0},
	{5, 5 * time.Millisecond, 1_000_000},
	{3, 3*time.Second + 3*time.Microsecond, 0},
	{1, time.Microsecond, 2},
	{7, time.Minute, 0},
	{7, time.Minute, 3},
	{9, 70 * time.Second, 11},
	{3, 10 * time.Microsecond, 100},
	{999_983, time.Second, 5},
	{1_000_000, time.Microsecond, 0},
	{1_000_000, 3650 * day, 1_000_000},
	{999_999, 3650 * day, 10},
	{1, 3650 * day, 10},
	{1, 3650 * day, 11},
	{999_999, 10 * time.Minute, 1_000_000},
	{2_000_000, time.Minute, 0},
	{2_000_000, time.Minute, 7_000_001},
	{1_999_993, time.Minute + time.Microsecond, 0},
	{largest, day, 0},
	{largest, time.Microsecond, 0},
	{largest - 11, 3650 * day, 0},
	{largest - 11, 1001 * day, largest},
	{999_999_999_989, 3650*day - time.Microsecond, 3},
	{77_777_777_777, 365 * day, largest},
}

func drawGCRA(t *rapid.T) plan[*ratelimit.Client, *model.GCRA] {
	limits := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom(gcraLimits),
		rapid.SampledFrom(gcraLimits),
		rapid.Custom(func(t *rapid.T) gcraLimit {
			return gcraLimit{
				rapid.OneOf(rapid.Int64Range(1, 1_000_000), rapid.Int64Range(1, largest)).Draw(t, "limit"),
				time.Duration(rapid.Int64Range(1, int64(3650*day)).Draw(t, "period")),
				rapid.SampledFrom([]int64{0, 1, 2, 1000, 1_000_000, 2_500_000_001, largest}).Draw(t, "burst"),
			}
		}),
	), 1, 8).Draw(t, "limits")
	var spans []time.Duration
	for _, l := range limits {
		spans = append(spans, l.period, max(l.period/time.Duration(l.limit), time.Microsecond), min(l.period/time.Duration(l.limit)*time.Duration(max(l.burst, 1)), century))
	}
	costs := func(t *rapid.T, l gcraLimit) *int64 {
		most := l.burst
		if most == 0 {
			most = l.limit
		}
		return rapid.SampledFrom([]*int64{nil, nil, nil, cost(0), cost(1), cost(2), cost(max(most/2, 1)), cost(most), cost(most), cost(min(most+1, largest)), cost(most - most/3)}).Draw(t, "cost")
	}
	return plan[*ratelimit.Client, *model.GCRA]{spans: spans, steady: len(limits) == 1, call: func(t *rapid.T) gcraCall {
		subject := fcall.Subject(rapid.SampledFrom(subjects).Draw(t, "subject"))
		l := rapid.SampledFrom(limits).Draw(t, "limits")
		switch rapid.IntRange(0, 19).Draw(t, "function") {
		default:
			return takeTokens(gcraParams{Subject: subject, Limit: l.limit, Period: l.period, Burst: l.burst, Cost: costs(t, l)})
		case 10, 11:
			return takeTokensAtMost(ratelimit.GCRAAtMostParams{Subject: subject, Limit: l.limit, Period: l.period, Burst: l.burst, Most: refunded(costs(t, l))})
		case 12, 13, 14:
			return refundTokens(ratelimit.GCRARefundParams{Subject: subject, Limit: l.limit, Period: l.period, Burst: l.burst, Cost: refunded(costs(t, l)), Expires: refundExpires(t)})
		case 15, 16, 17, 18:
			return peekAtTokens(ratelimit.GCRAPeekParams{Subject: subject, Limit: l.limit, Period: l.period, Burst: l.burst, Cost: costs(t, l)})
		case 19:
			return resetTokens(ratelimit.GCRAResetParams{Subject: subject})
		}
	}}
}

func modelCost(cost *int64) int64 {
	if cost == nil {
		return 1
	}
	return *cost
}

func takeTokens(p gcraParams) gcraCall {
	c := model.GCRACall{Limit: p.Limit, Period: p.Period, Burst: p.Burst, Cost: modelCost(p.Cost)}
	return gcraCall{
		function: "gcra", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueGCRA, p),
		answer: func(m *model.GCRA) answer {
			r, changed, err := m.Take(string(p.Subject), c)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			return answer{
				reply: gcraResult(r), changed: changed,
				refused: !r.Allowed, retry: r.RetryAfter, tick: c.Tick(),
				passes: func(reply any) bool { return reply.(gcraResult).Allowed },
			}
		},
	}
}

func takeTokensAtMost(p ratelimit.GCRAAtMostParams) gcraCall {
	c := model.GCRACall{Limit: p.Limit, Period: p.Period, Burst: p.Burst, Cost: p.Most}
	return gcraCall{
		function: "gcra_at_most", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueGCRAAtMost, p),
		answer: func(m *model.GCRA) answer {
			r, changed, err := m.TakeAtMost(string(p.Subject), c)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			return answer{
				reply: ratelimit.GCRAAtMostResult(r), changed: changed,
				refused: !r.Allowed, retry: r.RetryAfter, tick: c.Tick(),
				passes: func(reply any) bool { return reply.(ratelimit.GCRAAtMostResult).Allowed },
			}
		},
	}
}

func peekAtTokens(p ratelimit.GCRAPeekParams) gcraCall {
	c := model.GCRACall{Limit: p.Limit, Period: p.Period, Burst: p.Burst, Cost: modelCost(p.Cost)}
	return gcraCall{
		function: "gcra_peek", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueGCRAPeek, p),
		answer: func(m *model.GCRA) answer {
			r, err := m.Peek(string(p.Subject), c)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			return answer{
				reply:   ratelimit.GCRAPeekResult(r),
				refused: !r.Allowed, retry: r.RetryAfter, tick: c.Tick(),
				passes: func(reply any) bool { return reply.(ratelimit.GCRAPeekResult).Allowed },
			}
		},
	}
}

func refundTokens(p ratelimit.GCRARefundParams) gcraCall {
	c := model.GCRACall{Limit: p.Limit, Period: p.Period, Burst: p.Burst, Cost: p.Cost}
	return gcraCall{
		function: "gcra_refund", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueGCRARefund, p),
		answer: func(m *model.GCRA) answer {
			r, changed, err := m.Refund(string(p.Subject), c, p.Expires)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			return answer{reply: ratelimit.GCRARefundResult(r), changed: changed}
		},
	}
}

func resetTokens(p ratelimit.GCRAResetParams) gcraCall {
	return gcraCall{
		function: "gcra_reset", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueGCRAReset, p),
		answer: func(m *model.GCRA) answer {
			existed := m.Reset(string(p.Subject))
			return answer{reply: ratelimit.GCRAResetResult{Existed: existed}, changed: existed}
		},
	}
}

// gcraInvariant holds that no stretch of time has more tokens taken by calls with one limit than burst and what was gained
// in it, whatever calls with other limits took in between, from the times of the calls alone. It says nothing across a clock
// that went back, a refund or a reset.
func gcraInvariant() func(time.Time, string, any, any) string {
	type caller struct {
		subject string
		gcraLimit
	}
	type taken struct {
		at   time.Time
		cost int64
	}
	stretches, clock := map[caller][]taken{}, time.Time{}
	return func(now time.Time, subject string, params, reply any) string {
		if now.Before(clock) {
			clear(stretches)
		}
		clock = now
		var p gcraParams
		var took int64
		switch its := params.(type) {
		case ratelimit.GCRARefundParams, ratelimit.GCRAResetParams:
			maps.DeleteFunc(stretches, func(c caller, _ []taken) bool { return c.subject == subject })
		case gcraParams:
			if p = its; reply.(gcraResult).Allowed {
				took = modelCost(p.Cost)
			}
		case ratelimit.GCRAAtMostParams:
			p, took = gcraParams{Limit: its.Limit, Period: its.Period, Burst: its.Burst}, reply.(ratelimit.GCRAAtMostResult).Taken
		}
		if took == 0 {
			return ""
		}
		its := caller{subject, gcraLimit{p.Limit, p.Period, p.Burst}}
		// Where the tick is a millisecond, so is the clock.
		tick := model.GCRACall{Limit: p.Limit, Period: p.Period}.Tick()
		stretches[its] = append(stretches[its], taken{now.Truncate(tick), took})
		burst := p.Burst
		if burst == 0 {
			burst = p.Limit
		}
		period := (p.Period + time.Microsecond - 1).Truncate(time.Microsecond)
		sum := int64(0)
		for _, one := range slices.Backward(stretches[its]) {
			sum += one.cost
			passed := now.Truncate(tick).Sub(one.at)
			most := big.NewRat(int64(passed), int64(period))
			most.Mul(most, big.NewRat(p.Limit, 1)).Add(most, big.NewRat(burst, 1))
			if most.Cmp(big.NewRat(sum, 1)) < 0 {
				return fmt.Sprintf("%d tokens taken in %s, and %s is the most", sum, passed, most.FloatString(3))
			}
		}
		return ""
	}
}
