package guard

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// An Event is something that a guard did: a [Decided], [Refunded], [Settled], [Prefetched], [BreakerChanged] or [Reloaded].
type Event interface{ event() }

// An Observer gets events.
type Observer func(context.Context, Event)

// Decided is a decision, or the error that a request got instead.
type Decided struct {
	Request  Request
	Decision *Decision // nil if Err is set
	Err      error
	// Undefined is the identity of a subject that no limit counts, because the policy does not define it; "" without one.
	Undefined string
	// Duration is how long the decision took. Redis is the part spent waiting for Redis; 0 if guard did not call it.
	Duration time.Duration
	Redis    time.Duration
}

// Subject returns the client by the policy. Without a decision it returns the first of the request's subjects.
func (e *Decided) Subject() string {
	switch {
	case e.Decision != nil:
		return e.Decision.Subject
	case len(e.Request.Subjects) > 0:
		return e.Request.Subjects[0]
	}
	return ""
}

// Refunded is a charge that guard gave back. If Err is not nil, the charge stays counted until its window ends.
type Refunded struct {
	Subject string
	Err     error
}

// Prefetched is what a call for tokens of a prefetched limit, or a refund of some, adds to [Guard.Prefetches].
type Prefetched Prefetch

// BreakerChanged is a node's circuit breaker that opened or closed.
type BreakerChanged struct {
	Node string // its address in a cluster, else ""
	Open bool
}

// Reloaded is a reload that replaced the policy, failed, or ended a failure. If Err is not nil, the old policy stays.
type Reloaded struct{ Err error }

func (Decided) event()        {}
func (Refunded) event()       {}
func (Settled) event()        {}
func (Prefetched) event()     {}
func (BreakerChanged) event() {}
func (Reloaded) event()       {}

// observe passes an event to the observers, or else to the log.
func (g *Guard) observe(ctx context.Context, e Event) {
	if len(g.options.Observers) == 0 {
		g.log.observe(e)
	}
	for _, observer := range g.options.Observers {
		observer(ctx, e)
	}
}

// logInterval is the shortest time between two logs of one message.
const logInterval = time.Second

// A logger observes guards of services without observers. The zero value is ready.
type logger struct {
	mu   sync.Mutex
	last map[string]monotime.Time // by message
}

func (l *logger) observe(e Event) {
	switch e := e.(type) {
	case Decided:
		l.decided(&e)
	case Refunded:
		l.failure("charge not refunded", e.Err)
	case Settled:
		switch {
		case e.Err != nil && e.Reservation == "":
			l.failure("cost not recorded", e.Err)
		case e.Err != nil:
			l.failure("reservation not settled", e.Err)
		case e.Unknown != "":
			l.log(slog.LevelWarn, "usage unknown, so the estimate counts", "reason", e.Unknown)
		}
	case BreakerChanged:
		if e.Open {
			l.log(slog.LevelWarn, "circuit breaker opened", "node", e.Node)
		} else {
			l.log(slog.LevelInfo, "circuit breaker closed", "node", e.Node)
		}
	case Reloaded:
		if e.Err == nil {
			l.log(slog.LevelInfo, "policy replaced")
		}
		l.failure("policy not replaced", e.Err)
	}
}

// decided logs a decision that was made without Redis, or not at all. A client that hangs up is no failure.
func (l *logger) decided(e *Decided) {
	if e.Undefined != "" {
		l.log(slog.LevelWarn, "no limit counts a subject whose identity the policy does not define", "endpoint", e.Request.Endpoint, "identity", e.Undefined)
	}
	var closed *UnavailableError
	switch {
	case errors.As(e.Err, &closed):
		l.log(slog.LevelWarn, "failure mode applied", "endpoint", e.Request.Endpoint, "closed", closed.Closed, "cause", closed.Cause)
	case e.Err != nil && !errors.Is(e.Err, context.Canceled) && !errors.Is(e.Err, context.DeadlineExceeded):
		l.log(slog.LevelWarn, "decision failed", "endpoint", e.Request.Endpoint, "error", e.Err)
	case e.Err == nil && e.Decision.Fallback != FallbackNone:
		l.log(slog.LevelWarn, "failure mode applied", "endpoint", e.Request.Endpoint, "mode", e.Decision.Fallback, "cause", e.Decision.Cause)
	}
}

func (l *logger) failure(message string, err error) {
	if err != nil {
		l.log(slog.LevelWarn, message, "error", err)
	}
}

// log logs a message at most once in an interval.
func (l *logger) log(level slog.Level, message string, args ...any) {
	l.mu.Lock()
	now := monotime.Now()
	last, logged := l.last[message]
	due := !logged || now.Since(last) >= logInterval
	if due {
		if l.last == nil {
			l.last = map[string]monotime.Time{}
		}
		l.last[message] = now
	}
	l.mu.Unlock()
	if due {
		slog.Log(context.Background(), level, "guard: "+message, args...)
	}
}
