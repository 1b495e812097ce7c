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

type (
	quotaCall   = call[*ratelimit.Client, *model.Quota]
	quotaParams = ratelimit.QuotaParams
	quotaResult = ratelimit.QuotaResult
)

var quotaFamily = family[*ratelimit.Client, *model.Quota]{
	name:      "quota",
	suite:     suites.Limiters,
	model:     model.NewQuota,
	keys:      []storedKey{{"quota", "string"}},
	draw:      drawQuota,
	invariant: quotaInvariant,
}

// A quotaGrid is periods of one length, and the limit of its callers.
type quotaGrid struct {
	limit  int64
	length time.Duration
	offset time.Duration
}

// around returns the boundaries of a caller whose clock is some periods after the start.
func (g quotaGrid) around(periods int64) (p quotaParams) {
	start := luatest.Start.Truncate(time.Second).Add(g.offset + time.Duration(periods)*g.length)
	return quotaParams{Limit: g.limit, Previous: start.Add(-g.length), Start: start, Next: start.Add(g.length), After: start.Add(2 * g.length)}
}

func drawQuota(t *rapid.T) plan[*ratelimit.Client, *model.Quota] {
	grids := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) quotaGrid {
		length := rapid.SampledFrom([]time.Duration{10 * time.Microsecond, 10 * time.Second, time.Minute, day, 30 * day, 365 * day, 2000 * day}).Draw(t, "length")
		return quotaGrid{
			limit:  rapid.SampledFrom([]int64{1, 2, 3, 5, 8, 100, 2_000_000, largest}).Draw(t, "limit"),
			length: length,
			offset: -time.Duration(rapid.Int64Range(0, int64(length/time.Microsecond)-1).Draw(t, "offset")) * time.Microsecond,
		}
	}), 1, 10).Draw(t, "grids")
	var spans []time.Duration
	for _, g := range grids {
		spans = append(spans, g.length)
	}
	return plan[*ratelimit.Client, *model.Quota]{spans: spans, steady: len(grids) == 1, call: func(t *rapid.T) quotaCall {
		g := rapid.SampledFrom(grids).Draw(t, "grid")
		p := g.around(rapid.SampledFrom([]int64{0, 0, 0, 0, 1, 1, 2, 3, -1}).Draw(t, "periods"))
		p.Subject = fcall.Subject(rapid.SampledFrom(subjects).Draw(t, "subject"))
		p.Cost = rapid.SampledFrom([]*int64{nil, nil, nil, cost(0), cost(1), cost(2), cost(max(p.Limit/3, 1)), cost(p.Limit), cost(min(p.Limit+1, largest))}).Draw(t, "cost")
		if rapid.IntRange(0, 99).Draw(t, "disorder") == 99 {
			p.Next = p.Start
		}
		switch rapid.IntRange(0, 19).Draw(t, "function") {
		default:
			return takeFromQuota(p)
		case 11, 12:
			return takeFromQuotaAtMost(ratelimit.QuotaAtMostParams{Subject: p.Subject, Limit: p.Limit, Previous: p.Previous, Start: p.Start, Next: p.Next, After: p.After, Most: refunded(p.Cost)})
		case 13, 14, 15:
			return peekIntoQuota(ratelimit.QuotaPeekParams(p))
		case 16, 17, 18:
			return refundToQuota(ratelimit.QuotaRefundParams{Subject: p.Subject, Limit: p.Limit, Previous: p.Previous, Start: p.Start, Next: p.Next, After: p.After, Cost: refunded(p.Cost), Expires: refundExpires(t)})
		case 19:
			return resetQuota(ratelimit.QuotaResetParams{Subject: p.Subject})
		}
	}}
}

func modelQuota(p quotaParams, cost int64) model.QuotaCall {
	return model.QuotaCall{Limit: p.Limit, Previous: p.Previous, Start: p.Start, Next: p.Next, After: p.After, Cost: cost}
}

func takeFromQuota(p quotaParams) quotaCall {
	return quotaCall{
		function: "quota", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueQuota, p),
		answer: func(m *model.Quota) answer {
			r, changed, err := m.Take(string(p.Subject), modelQuota(p, modelCost(p.Cost)))
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			return answer{
				reply: quotaResult(r), changed: changed,
				refused: refusedInside(m, r.Allowed, r.RetryAfter, p.After), retry: r.RetryAfter, tick: time.Microsecond,
				passes: func(reply any) bool { r, ok := reply.(quotaResult); return ok && r.Allowed },
			}
		},
	}
}

// refusedInside reports whether a refused call can pass before its boundaries are over.
func refusedInside(m *model.Quota, allowed bool, retry time.Duration, after time.Time) bool {
	return !allowed && m.Now().Add(retry).Before(after)
}

func takeFromQuotaAtMost(p ratelimit.QuotaAtMostParams) quotaCall {
	call := quotaParams{Limit: p.Limit, Previous: p.Previous, Start: p.Start, Next: p.Next, After: p.After}
	return quotaCall{
		function: "quota_at_most", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueQuotaAtMost, p),
		answer: func(m *model.Quota) answer {
			r, changed, err := m.TakeAtMost(string(p.Subject), modelQuota(call, p.Most))
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			return answer{
				reply: ratelimit.QuotaAtMostResult(r), changed: changed,
				refused: refusedInside(m, r.Allowed, r.RetryAfter, p.After), retry: r.RetryAfter, tick: time.Microsecond,
				passes: func(reply any) bool { r, ok := reply.(ratelimit.QuotaAtMostResult); return ok && r.Allowed },
			}
		},
	}
}

func peekIntoQuota(p ratelimit.QuotaPeekParams) quotaCall {
	return quotaCall{
		function: "quota_peek", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueQuotaPeek, p),
		answer: func(m *model.Quota) answer {
			r, err := m.Peek(string(p.Subject), modelQuota(quotaParams(p), modelCost(p.Cost)))
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			return answer{
				reply:   ratelimit.QuotaPeekResult(r),
				refused: refusedInside(m, r.Allowed, r.RetryAfter, p.After), retry: r.RetryAfter, tick: time.Microsecond,
				passes: func(reply any) bool { r, ok := reply.(ratelimit.QuotaPeekResult); return ok && r.Allowed },
			}
		},
	}
}

func refundToQuota(p ratelimit.QuotaRefundParams) quotaCall {
	call := quotaParams{Limit: p.Limit, Previous: p.Previous, Start: p.Start, Next: p.Next, After: p.After}
	return quotaCall{
		function: "quota_refund", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueQuotaRefund, p),
		answer: func(m *model.Quota) answer {
			r, changed, err := m.Refund(string(p.Subject), modelQuota(call, p.Cost), p.Expires)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			return answer{reply: ratelimit.QuotaRefundResult(r), changed: changed}
		},
	}
}

func resetQuota(p ratelimit.QuotaResetParams) quotaCall {
	return quotaCall{
		function: "quota_reset", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueQuotaReset, p),
		answer: func(m *model.Quota) answer {
			existed := m.Reset(string(p.Subject))
			return answer{reply: ratelimit.QuotaResetResult{Existed: existed}, changed: existed}
		},
	}
}

// quotaInvariant holds that calls of one limit are admitted at most that limit in each of their periods, whatever calls with other periods
// do. It says nothing across a clock that went back, a refund, a reset, or more kinds of period than a bucket keeps.
func quotaInvariant() func(time.Time, string, any, any) string {
	type period struct {
		subject    string
		limit      int64
		start, end time.Time
	}
	taken, seen, clock := map[period]int64{}, map[string]map[[2]time.Time]bool{}, time.Time{}
	admit := func(now time.Time, subject string, limit int64, cost int64, boundaries ...time.Time) string {
		for i := range 3 {
			p := period{subject, limit, boundaries[i], boundaries[i+1]}
			if now.Before(p.start) || !now.Before(p.end) {
				continue
			}
			if seen[subject] == nil {
				seen[subject] = map[[2]time.Time]bool{}
			}
			seen[subject][[2]time.Time{p.start, p.end}] = true
			if taken[p] += cost; taken[p] > limit && len(seen[subject]) <= 8 {
				return fmt.Sprintf("%d of %d were admitted from %v to %v", taken[p], limit, p.start, p.end)
			}
		}
		return ""
	}
	return func(now time.Time, subject string, params, reply any) string {
		if now.Before(clock) {
			clear(taken)
			clear(seen)
		}
		clock = now
		switch p := params.(type) {
		case quotaParams:
			if reply.(quotaResult).Allowed {
				return admit(now, subject, p.Limit, modelCost(p.Cost), p.Previous, p.Start, p.Next, p.After)
			}
		case ratelimit.QuotaAtMostParams:
			return admit(now, subject, p.Limit, reply.(ratelimit.QuotaAtMostResult).Taken, p.Previous, p.Start, p.Next, p.After)
		case ratelimit.QuotaRefundParams, ratelimit.QuotaResetParams:
			clear(taken)
			clear(seen)
		}
		return ""
	}
}
