package guard

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A counting is what an admitted request has taken of limits that count some responses only, until its response is there.
type counting struct {
	guard   *Guard
	backend backend
	asked   *question
	answers []answer
	ended   atomic.Bool
	next    *counting // of the calls that this process decided alone
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
	var skipped rowSet
	for i := range c.asked.rows.all() {
		if r := c.asked.plan.rows[i].count; r != nil && !counts(r) {
			skipped |= 1 << i
		}
	}
	if skipped == 0 {
		return
	}
	c.guard.behind(ctx, func(ctx context.Context) { c.giveBack(ctx, skipped) })
}

// giveBack gives back what the request took of some rows; its attempt, receipt and budgets stay.
func (c *counting) giveBack(ctx context.Context, skipped rowSet) {
	q := c.asked
	for n := range q.calls {
		cl, a := &q.calls[n], &c.answers[n]
		rows := rowSet(0)
		var taken []guard.GiveBackTaken
		for i := range (cl.rows & skipped).all() {
			if a.err == nil && cl.charged(q.plan, &a.result, i) {
				rows |= 1 << i
				taken = append(taken, guard.GiveBackTaken{Left: a.result.Limits[cl.rows.place(i)].ResetAfter})
			}
		}
		if rows == 0 {
			continue
		}
		of := q.subjectsOf(rows, string(cl.params.Bucket))
		err := c.backend.giveBack(ctx, guard.GiveBackParams{
			Bucket: cl.params.Bucket, Limits: q.plan.pack(rows, cl.local, q.times).pack, LimitsOf: of, Weight: cl.params.Weight,
			Taken: taken, At: a.result.At, Age: now().since(q.sent),
		})
		for _, s := range slices.Concat([]fcall.Subject{cl.params.Bucket}, of) {
			c.guard.denied.release(string(s))
		}
		c.guard.hooks.gaveBack(ctx, string(cl.params.Bucket), err)
		if err != nil {
			c.guard.warn(noticeSettled, "a response that does not count stays counted", "endpoint", q.plan.endpoint.Name, "error", err)
		}
	}
}
