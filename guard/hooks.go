package guard

import (
	"context"
	"time"
)

// Hooks observe a Guard, and change nothing of what they get. Each may be nil. They run on the request's goroutine, so they must not block. Package telemetry provides hooks for
// OpenTelemetry and slog.
type Hooks struct {
	// Deciding runs first. The decision uses the context that it returns.
	Deciding func(ctx context.Context, r *Request) context.Context
	// Decided runs after each decision or error.
	Decided func(ctx context.Context, e Event)
	// Undefined runs for each request with a subject whose identity the policy does not define, so that no limit counts it.
	Undefined func(ctx context.Context, endpoint, identity string)
	// Breaker runs when a node's circuit breaker opens or closes. node is an address in a cluster, else "".
	Breaker func(node string, open bool)
	// Refunded runs after guard refunded a charge. If err is not nil, the charge stays counted until its window ends.
	Refunded func(ctx context.Context, subject string, err error)
	// Prefetched runs after a call for tokens of a prefetched limit, or a refund of some, with what it adds to Prefetches.
	Prefetched func(added Prefetch)
	// Settled runs after a reservation was settled.
	Settled func(ctx context.Context, s Settlement, err error)
	// Leased runs after Charge.Renew or Charge.Release. If err is not nil, the call may have run.
	Leased func(ctx context.Context, outcome LeaseOutcome, err error)
	// Processes returns the number of processes that share the policy, or 0 if it is unknown. Failure mode local uses it to compute this
	// process's share.
	Processes func() int
	// Reloaded runs after each reload that replaces the policy, fails, or ends a failure. If err is not nil, the old policy stays.
	Reloaded func(err error)
}

// An Event is one decision.
type Event struct {
	Request  Request
	Decision *Decision // nil if Err is set
	Err      error
	// Function is the Redis function that guard called, such as guard_v1_admit; "" if it called none.
	Function string
	// Duration is how long the decision took. Redis is the part spent waiting for Redis; 0 if guard called no function.
	Duration time.Duration
	Redis    time.Duration
}

// Subject returns the client by the policy. Without a decision it returns the first of the request's subjects.
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

func (hs hooks) undefined(ctx context.Context, endpoint, identity string) {
	for i := range hs {
		if hs[i].Undefined != nil {
			hs[i].Undefined(ctx, endpoint, identity)
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

func (hs hooks) refunded(ctx context.Context, subject string, err error) {
	for i := range hs {
		if hs[i].Refunded != nil {
			hs[i].Refunded(ctx, subject, err)
		}
	}
}

func (hs hooks) prefetched(added Prefetch) {
	for i := range hs {
		if hs[i].Prefetched != nil {
			hs[i].Prefetched(added)
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

func (hs hooks) leased(ctx context.Context, outcome LeaseOutcome, err error) {
	for i := range hs {
		if hs[i].Leased != nil {
			hs[i].Leased(ctx, outcome, err)
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

// processes returns the largest number that a hook reports.
func (hs hooks) processes() int {
	n := 0
	for i := range hs {
		if hs[i].Processes != nil {
			n = max(n, hs[i].Processes())
		}
	}
	return n
}
