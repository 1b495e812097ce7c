package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// ErrCrowded means that as many requests wait as Options.MaxWaiting lets, at all or of the subject.
var ErrCrowded = errors.New("too many requests are waiting")

// Wait decides like Decide, but waits and retries while the request is refused and waiting helps. It returns a decision that allows, a
// refusal that no wait ends, or an error. It returns the refusal and an error at once if the request cannot pass before the context's
// deadline or within Options.MaxWait ([context.DeadlineExceeded]), or if too many requests wait or too many of its subject ([ErrCrowded]). Requests are not served in
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
	subject := cmp.Or(d.Refused, d.Subject)
	if !g.waiting.enter(subject, g.options.MaxWaiting) {
		return d, fmt.Errorf("wait for endpoint %s: %w", r.Endpoint, ErrCrowded)
	}
	defer g.waiting.leave(subject)
	r.At = nil // a policy may be replaced meanwhile
	timer := time.NewTimer(d.RetryAfter)
	defer timer.Stop()
	for poll := firstPoll; ; poll = min(2*poll, placeRetry) {
		pause := d.RetryAfter
		if d.AwaitsPlace {
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

// waiters are the requests that wait.
type waiters struct {
	mu    sync.Mutex
	total int
	of    map[string]int // by the subject that is refused; "" is a request without one
}

// enter reports whether another request may wait. A subject gets a place only while it has fewer than are free. So one subject takes at
// most half of the places, and several leave some to others.
func (w *waiters) enter(subject string, most int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if free := most - w.total; free <= 0 || subject != "" && w.of[subject] >= free {
		return false
	}
	if w.of == nil {
		w.of = map[string]int{}
	}
	w.total++
	w.of[subject]++
	return true
}

func (w *waiters) leave(subject string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total--
	if w.of[subject]--; w.of[subject] == 0 {
		delete(w.of, subject)
	}
}

// firstPoll is the mean of the first wait for a place.
const firstPoll = 10 * time.Millisecond

// mustWait reports whether the request is refused only for some time.
func mustWait(d *Decision, err error) bool { return err == nil && !d.Allowed && d.RetryAfter > 0 }
