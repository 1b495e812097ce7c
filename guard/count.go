package guard

import (
	"context"
	"sync/atomic"

	"github.com/rlfunc/rlfunc/guard/internal/ask"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A counting is what an admitted request has taken of limits that count some responses only, until its response is there.
type counting struct {
	guard    *Guard
	backend  *ask.Backend
	question *plan.Question
	answers  []ask.Answer
	ended    atomic.Bool
	next     *counting // of the calls that this process decided alone
}

// Counting reports whether some limit waits for the response.
func (d *Decision) Counting() bool { return d.counting != nil }

// Count makes the request count for every limit, whatever its response will be.
func (d *Decision) Count() {
	for c := d.counting; c != nil; c = c.next {
		c.ended.Store(true)
	}
}

// Skip gives back what the request took of limits that count some responses only, whatever its response will be. It does so behind the
// request, see Guard.Close.
func (d *Decision) Skip(ctx context.Context) {
	d.Respond(ctx, func(*policy.Responses) bool { return false })
}

// Respond gives back what the request took of limits that do not count its response. It does so behind the request, see Guard.Close. After
// Count, Skip or another Respond it does nothing. The middleware calls it.
func (d *Decision) Respond(ctx context.Context, counts func(*policy.Responses) bool) {
	for c := d.counting; c != nil; c = c.next {
		c.respond(ctx, counts)
	}
}

func (c *counting) respond(ctx context.Context, counts func(*policy.Responses) bool) {
	if !c.ended.CompareAndSwap(false, true) {
		return
	}
	q, skipped := c.question, plan.RowSet(0)
	for i := range q.Rows.All() {
		if r := q.Plan.Rows[i].Count; r != nil && !counts(r) {
			skipped |= 1 << i
		}
	}
	if skipped == 0 {
		return
	}
	c.guard.finish(ctx, func(ctx context.Context) {
		c.backend.GiveBack(ctx, q, c.answers, skipped, func(subject string, subjects []string, err error) {
			c.guard.asker.GaveBack(ctx, subject, subjects, err)
			if err != nil {
				c.guard.warn(noticeSettled, "a response that does not count stays counted", "endpoint", q.Request.Endpoint, "error", err)
			}
		})
	})
}
