package guard

import (
	"context"
	"time"
)

// Hooks are told what a Guard does; each may be nil. They run on the request's own goroutine, so they must not wait. Package telemetry
// makes some for OpenTelemetry and slog.
type Hooks struct {
	// Deciding is called first; the context that it returns is that of the decision.
	Deciding func(ctx context.Context, r *Request) context.Context
	// Decided is called once a decision or an error is there.
	Decided func(ctx context.Context, e Event)
	// Breaker is called when the circuit breaker of a node opens (it is left alone) or closes. The node is an address of a cluster or a Ring, else "".
	Breaker func(node string, open bool)
	// GaveBack is called after a call that was admitted by one side and refused by another: err tells that what it took stays
	// taken until its window ends.
	GaveBack func(ctx context.Context, subject string, err error)
	// Settled is called after a reservation was settled or cancelled: cost reserve's estimate, and what came of it.
	Settled func(ctx context.Context, s Settlement, err error)
	// Shadowed is called with the answer of the policy in the shadow beside the live one.
	Shadowed func(ctx context.Context, live, shadow Event)
	// Processes says how many processes decide by the policy, 0 if that is not known. It is asked when one has to decide alone, for its share.
	Processes func() int
	// Reloaded is called when the policy was replaced, and with an error when a file was not taken.
	Reloaded func(err error)
}

// An Event is one decision.
type Event struct {
	Request  Request
	Decision *Decision // nil with an Err
	Err      error
	// Function is what Redis was asked, guard_v1_admit; "" when it was not.
	Function string
	// Duration is how long the decision took, and Redis what of it was spent waiting for Redis; 0 when it was not asked.
	Duration time.Duration
	Redis    time.Duration
}

// Subject is whose the request is: the policy's client, or without a decision the first of its subjects.
func (e *Event) Subject() string {
	switch {
	case e.Decision != nil:
		return e.Decision.Subject
	case len(e.Request.Subjects) > 0:
		return e.Request.Subjects[0]
	}
	return ""
}

type hooks []Hooks

func (hs hooks) deciding(ctx context.Context, r *Request) context.Context {
	for i := range hs {
		if hs[i].Deciding != nil {
			ctx = hs[i].Deciding(ctx, r)
		}
	}
	return ctx
}

func (hs hooks) decided(ctx context.Context, e Event) {
	for i := range hs {
		if hs[i].Decided != nil {
			hs[i].Decided(ctx, e)
		}
	}
}

func (hs hooks) breaker(node string, open bool) {
	for i := range hs {
		if hs[i].Breaker != nil {
			hs[i].Breaker(node, open)
		}
	}
}

func (hs hooks) gaveBack(ctx context.Context, subject string, err error) {
	for i := range hs {
		if hs[i].GaveBack != nil {
			hs[i].GaveBack(ctx, subject, err)
		}
	}
}

func (hs hooks) settled(ctx context.Context, s Settlement, err error) {
	for i := range hs {
		if hs[i].Settled != nil {
			hs[i].Settled(ctx, s, err)
		}
	}
}

func (hs hooks) shadowed(ctx context.Context, live, shadow Event) {
	for i := range hs {
		if hs[i].Shadowed != nil {
			hs[i].Shadowed(ctx, live, shadow)
		}
	}
}

func (hs hooks) reloaded(err error) {
	for i := range hs {
		if hs[i].Reloaded != nil {
			hs[i].Reloaded(err)
		}
	}
}

// processes is the most that a hook knows of.
func (hs hooks) processes() int {
	n := 0
	for i := range hs {
		if hs[i].Processes != nil {
			n = max(n, hs[i].Processes())
		}
	}
	return n
}
