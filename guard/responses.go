package guard

import (
	"context"
	"sync/atomic"

	"github.com/rlfunc/rlfunc/guard/internal/admit"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A pendingResponse holds the charges of limits that count only some responses, until the response is known.
type pendingResponse struct {
	guard   *Guard
	backend *admit.Backend
	query   *plan.Query
	answers []admit.Answer
	done    atomic.Bool
	next    *pendingResponse // charges of this process's local engine
}

// Count keeps the request's charges, whatever its response is.
func (d *Decision) Count() {
	for c := d.pendingResponse; c != nil; c = c.next {
		c.done.Store(true)
	}
}

// Skip refunds the charges of limits that count only some responses. It does so in the background; Guard.Close waits for it.
func (d *Decision) Skip(ctx context.Context) {
	d.respond(ctx, func(*policy.Responses) bool { return false })
}

// respond refunds the charges of limits that do not count the response. It does nothing after Count, Skip or another respond.
func (d *Decision) respond(ctx context.Context, counts func(*policy.Responses) bool) {
	for c := d.pendingResponse; c != nil; c = c.next {
		c.respond(ctx, counts)
	}
}

func (c *pendingResponse) respond(ctx context.Context, counts func(*policy.Responses) bool) {
	if !c.done.CompareAndSwap(false, true) {
		return
	}
	q, skipped := c.query, plan.RowSet(0)
	for i := range q.Rows.All() {
		if r := q.Plan.Rows[i].Count; r != nil && !counts(r) {
			skipped |= 1 << i
		}
	}
	if skipped == 0 {
		return
	}
	c.guard.finish(ctx, func(ctx context.Context) {
		c.backend.Refund(ctx, q, c.answers, skipped, func(subject string, subjects []string, err error) {
			c.guard.sender.Refunded(ctx, subject, subjects, err)
			if err != nil {
				c.guard.warn(noticeSettled, "charge not refunded", "endpoint", q.Request.Endpoint, "error", err)
			}
		})
	})
}
