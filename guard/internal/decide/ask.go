package decide

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

var (
	// ErrTimeout means that Redis did not answer within the policy's timeout.
	ErrTimeout = errors.New("no answer from Redis within the timeout")
	// ErrBusy means that MaxInFlight queries already wait.
	ErrBusy = errors.New("too many calls are in flight")

	// ErrCallersDeadline means that Redis did not answer before the deadline of the caller's context.
	ErrCallersDeadline = fmt.Errorf("no answer from Redis before the caller's deadline: %w", context.DeadlineExceeded)

	// errOwnTimeout means that Redis did not answer within the time that the request itself allows. That says nothing about Redis.
	errOwnTimeout = fmt.Errorf("no answer from Redis within the request's own timeout: %w", context.DeadlineExceeded)
)

// An Asker sends queries to Redis, behind the circuit breakers of its nodes.
type Asker struct {
	Client      *guard.Client
	Breakers    Breakers
	MaxInFlight int64        // queries that wait for Redis
	Background  func(func()) // runs work outside of the request
	Inline      bool         // the client is that of this process's engine, which answers at once

	inFlight atomic.Int64
	timers   timers
}

// Ask makes the calls of a query, each by itself, and returns when all have a result or an error, at the latest when the wait is over. It
// makes no call that has an error already. It reports whether it made any.
func (a *Asker) Ask(ctx context.Context, q *Query, wait Wait) (asked bool) {
	if a.Inline {
		q.Run(context.WithoutCancel(ctx), a.Client)
		return true
	}
	defer a.inFlight.Add(-1)
	if a.inFlight.Add(1) > a.MaxInFlight {
		q.fail(ErrBusy)
		return false
	}
	q.Sent = monotime.Now()
	q.context = &callContext{ctx, a.timers.after(wait.policy, q.Sent), wait}
	if len(q.Calls) > 1 {
		return a.askSeveral(ctx, q)
	}
	if asked = a.permit(ctx, q, &q.Calls[0]); asked {
		a.call(q, &q.Calls[0])
	}
	return asked
}

// askSeveral makes calls at the same time. Those to one node share round trips.
func (a *Asker) askSeveral(ctx context.Context, q *Query) (asked bool) {
	var calls sync.WaitGroup
	for i := range q.Calls {
		if c := &q.Calls[i]; a.permit(ctx, q, c) {
			asked = true
			calls.Go(func() { a.call(q, c) })
		}
	}
	calls.Wait()
	return asked
}

// permit reports whether a call may be made: it has no error, and its node's breaker is closed.
func (a *Asker) permit(ctx context.Context, q *Query, c *Call) (ok bool) {
	if c.Err != nil {
		return false
	}
	node := ""
	if !q.OneServer {
		node = a.Client.Fcall().Node(ctx, c.Params.Subject)
	}
	if c.permit, ok = a.Breakers.Allow(node); !ok {
		c.Err = a.explain(ErrBreaker)
	}
	return ok
}

func (a *Asker) call(q *Query, c *Call) {
	if q.context.wait.Own {
		a.callBeside(q, c)
		return
	}
	c.Result, c.Err = a.Client.Admit(q.context, c.Params)
	if ended(c.Err) {
		c.Err = overdue{a.explain(ErrTimeout), c.Err}
	}
	c.permit.Done(c.Err)
}

// callBeside makes the call of a request that does not wait as long as the policy allows. The call goes on for that long: a client that
// chooses a short time must neither open the breaker for others nor close a connection, and a Redis that answers nobody opens it.
func (a *Asker) callBeside(q *Query, c *Call) {
	ctx, params, permit, end := q.context, c.Params, c.permit, time.NewTimer(q.context.wait.For)
	defer end.Stop()
	type answer struct {
		result guard.AdmitResult
		err    error
	}
	answered := make(chan answer, 1)
	a.inFlight.Add(1)
	a.Background(func() {
		defer a.inFlight.Add(-1)
		result, err := a.Client.Admit(ctx, params)
		permit.Done(err)
		answered <- answer{result, err}
	})
	select {
	case got := <-answered:
		c.Result, c.Err = got.result, got.err
	case <-end.C:
		c.Err = overdue{a.explain(q.context.wait.Err), &fcall.OutcomeError{Function: "guard.admit", Cause: context.DeadlineExceeded}}
	}
}

// An overdue error is that of a call that the request no longer waited for.
type overdue struct{ why, err error }

func (o overdue) Error() string   { return o.why.Error() }
func (o overdue) Unwrap() []error { return []error{o.why, o.err} }

// MayHaveRun reports whether a call failed and Redis may have run it, or may run it yet.
func MayHaveRun(err error) bool {
	return errors.Is(err, fcall.ErrOutcomeUnknown) || errors.Is(err, fcall.ErrReply)
}

// An unreachable error is explained by an attempt to connect that failed.
type unreachable struct{ err, dial error }

func (u unreachable) Error() string   { return u.err.Error() + ": " + u.dial.Error() }
func (u unreachable) Unwrap() []error { return []error{u.err, u.dial} }

// explain adds to an error why Redis cannot be reached, if that is known.
func (a *Asker) explain(err error) error {
	if dial := a.Client.Fcall().Unreachable(); dial != nil {
		return unreachable{err, dial}
	}
	return err
}

// A Wait is how long a request waits for Redis.
type Wait struct {
	For time.Duration
	Err error // of a request that has waited so long
	Own bool  // the request itself allows no more

	policy time.Duration // that the policy allows
}

// WaitOf returns the shortest of the policy's timeout, the request's own and the time to the context's deadline, as far as there are such.
func WaitOf(ctx context.Context, timeout, own time.Duration) Wait {
	w := Wait{For: timeout, Err: ErrTimeout, policy: timeout}
	if 0 < own && own < w.For {
		w.For, w.Err, w.Own = own, errOwnTimeout, true
	}
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left < w.For {
			w.For, w.Err, w.Own = left, ErrCallersDeadline, true
		}
	}
	return w
}

// timers limit the waits of requests. Waits that begin within a 16th of the timeout share a timer.
type timers struct{ last atomic.Pointer[sharedTimer] }

// A sharedTimer ends the waits of some requests.
type sharedTimer struct {
	endsAt   monotime.Time
	deadline time.Time
	expired  chan struct{}
}

// after returns a timer that ends after d, or up to a 16th of d earlier.
func (c *timers) after(d time.Duration, at monotime.Time) *sharedTimer {
	if t := c.last.Load(); t != nil {
		if left := t.endsAt.Since(at); left <= d && left >= d-d/16 {
			return t
		}
	}
	t := &sharedTimer{endsAt: at.Add(d), deadline: time.Now().Add(d), expired: make(chan struct{})}
	time.AfterFunc(d, func() { close(t.expired) })
	c.last.Store(t)
	return t
}

// A callContext is the context of a request's calls. It has the request's values and ends with the policy's timeout, but not when the
// request is cancelled: an answer that is on its way is worth more than one that nobody knows.
type callContext struct {
	request context.Context
	timer   *sharedTimer
	wait    Wait
}

func (c *callContext) Deadline() (time.Time, bool) { return c.timer.deadline, true }
func (c *callContext) Done() <-chan struct{}       { return c.timer.expired }
func (c *callContext) Value(key any) any           { return c.request.Value(key) }

func (c *callContext) Err() error {
	select {
	case <-c.timer.expired:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// ended reports whether a call failed because its time was over.
func ended(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
