package guard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// ErrCrowded means that Options.MaxWaiting requests already wait.
var ErrCrowded = errors.New("too many requests are waiting")

// Wait decides like Decide, but waits and retries while the request is refused and waiting helps. It returns a decision that allows, a
// refusal that no wait ends, or an error. It returns the refusal and an error at once if the request cannot pass before the context's
// deadline or within Options.MaxWait ([context.DeadlineExceeded]), or if too many requests wait ([ErrCrowded]). Requests are not served in
// arrival order. While only limits of kind concurrency refuse, it polls, at growing intervals up to 1 s.
func (g *Guard) Wait(ctx context.Context, r Request) (*Decision, error) {
	ends := time.Now().Add(g.options.MaxWait)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(ends) {
		ends = deadline
	}
	d, err := g.Decide(ctx, r)
	if !mustWait(d, err) {
		return d, err
	}
	if g.waiting.Add(1) > int64(g.options.MaxWaiting) {
		g.waiting.Add(-1)
		return d, fmt.Errorf("wait for endpoint %s: %w", r.Endpoint, ErrCrowded)
	}
	defer g.waiting.Add(-1)
	timer := time.NewTimer(d.RetryAfter)
	defer timer.Stop()
	for poll := firstPoll; ; poll = min(2*poll, placeRetry) {
		pause := d.RetryAfter
		if d.awaitsPlace {
			pause = min(pause, poll/2+rand.N(poll)) // random, so that waiting requests do not poll together
		}
		if time.Until(ends) < pause {
			return d, fmt.Errorf("wait %s for endpoint %s: %w", pause, r.Endpoint, context.DeadlineExceeded)
		}
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return d, ctx.Err()
		case <-timer.C:
		}
		if d, err = g.Decide(ctx, r); !mustWait(d, err) {
			return d, err
		}
	}
}

// firstPoll is the mean of the first wait for a place.
const firstPoll = 10 * time.Millisecond

// mustWait reports whether the request is refused only for some time.
func mustWait(d *Decision, err error) bool { return err == nil && !d.Allowed && d.RetryAfter > 0 }
