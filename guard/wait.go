package guard

import (
	"context"
	"fmt"
	"time"
)

// Wait decides like Decide, and waits while only time is missing: it returns a decision that allows, one that no wait helps, or
// an error. When the context's deadline comes before the request would pass, Wait returns the refusal at once, with an error that
// is a context.DeadlineExceeded. Waiting is not a queue: who came first has no right to go first.
func (g *Guard) Wait(ctx context.Context, r Request) (*Decision, error) {
	for {
		d, err := g.Decide(ctx, r)
		if err != nil || d.Allowed || d.RetryAfter <= 0 {
			return d, err
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d.RetryAfter {
			return d, fmt.Errorf("wait %s for %s: %w", d.RetryAfter, r.Endpoint, context.DeadlineExceeded)
		}
		timer := time.NewTimer(d.RetryAfter)
		select {
		case <-ctx.Done():
			timer.Stop()
			return d, ctx.Err()
		case <-timer.C:
		}
	}
}
