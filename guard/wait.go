package guard

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrCrowded is a request that does not wait, as Options.MostWaiting others do.
var ErrCrowded = errors.New("too many requests wait")

// Wait decides like Decide, and waits while only time is missing: it returns a decision that allows, one that no wait helps, or
// an error. It returns the refusal at once, and an error beside it, if the request would not pass before the context's deadline or within
// Options.MostWait ([context.DeadlineExceeded]), or if too many wait ([ErrCrowded]). Waiting is not a queue: who came first has no right
// to go first.
func (g *Guard) Wait(ctx context.Context, r Request) (*Decision, error) {
	ends := time.Now().Add(g.options.MostWait)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(ends) {
		ends = deadline
	}
	d, err := g.Decide(ctx, r)
	if !waits(d, err) {
		return d, err
	}
	if g.waiting.Add(1) > int64(g.options.MostWaiting) {
		g.waiting.Add(-1)
		return d, fmt.Errorf("wait for %s: %w", r.Endpoint, ErrCrowded)
	}
	defer g.waiting.Add(-1)
	timer := time.NewTimer(d.RetryAfter)
	defer timer.Stop()
	for {
		if time.Until(ends) < d.RetryAfter {
			return d, fmt.Errorf("wait %s for %s: %w", d.RetryAfter, r.Endpoint, context.DeadlineExceeded)
		}
		timer.Reset(d.RetryAfter)
		select {
		case <-ctx.Done():
			return d, ctx.Err()
		case <-timer.C:
		}
		if d, err = g.Decide(ctx, r); !waits(d, err) {
			return d, err
		}
	}
}

// waits reports whether only time is missing.
func waits(d *Decision, err error) bool { return err == nil && !d.Allowed && d.RetryAfter > 0 }
