package guard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

var (
	// errCallersDeadline means that Redis did not answer before the deadline of the caller's context.
	errCallersDeadline = fmt.Errorf("no answer from Redis before the caller's deadline: %w", context.DeadlineExceeded)

	// errOwnTimeout means that Redis did not answer within the time that the request itself allows. That says nothing about Redis.
	errOwnTimeout = fmt.Errorf("no answer from Redis within the request's own timeout: %w", context.DeadlineExceeded)
)

// An asker sends queries to Redis, behind the circuit breakers of its nodes.
type asker struct {
	client      *genguard.Client
	breakers    breakers
	maxInFlight int64        // queries that wait for Redis
	background  func(func()) // runs work outside of the request
	inline      bool         // the client is that of this process's engine, which answers at once

	inFlight atomic.Int64
	timers   timers
}

// ask makes the calls of a query, each by itself, and returns when all have a result or an error, at the latest when the wait is over. It
// makes no call that has an error already. It reports whether it made any.
func (a *asker) ask(ctx context.Context, q *ask, wait patience) (asked bool) {
	if a.inline {
		q.run(context.WithoutCancel(ctx), a.client)
		return true
	}
	defer a.inFlight.Add(-1)
	if a.inFlight.Add(1) > a.maxInFlight {
		q.fail(ErrBusy)
		return false
	}
	q.sent = monotime.Now()
	q.context = &callContext{ctx, a.timers.after(wait.policy, q.sent), wait}
	if len(q.calls) > 1 {
		return a.askSeveral(ctx, q)
	}
	if asked = a.permit(ctx, q, &q.calls[0]); asked {
		a.call(q, &q.calls[0])
	}
	return asked
}

// askSeveral makes calls at the same time. Those to one node share round trips.
func (a *asker) askSeveral(ctx context.Context, q *ask) (asked bool) {
	var calls sync.WaitGroup
	for i := range q.calls {
		if c := &q.calls[i]; a.permit(ctx, q, c) {
			asked = true
			calls.Go(func() { a.call(q, c) })
		}
	}
	calls.Wait()
	return asked
}

// permit reports whether a call may be made: it has no error, and its node's breaker is closed.
func (a *asker) permit(ctx context.Context, q *ask, c *call) (ok bool) {
	if c.err != nil {
		return false
	}
	node := ""
	if !q.oneServer {
		node = a.client.Fcall().Node(ctx, c.params.Subject)
	}
	if c.permit, ok = a.breakers.allow(node); !ok {
		c.err = a.explain(ErrBreaker)
	}
	return ok
}

func (a *asker) call(q *ask, c *call) {
	if q.context.wait.own {
		a.callBeside(q, c)
		return
	}
	c.result, c.err = decideCall(q.context, a.client, &c.params)
	if ended(c.err) {
		c.err = overdue{a.explain(ErrTimeout), c.err}
	}
	c.permit.done(c.err)
}

// callBeside makes the call of a request that does not wait as long as the policy allows. The call goes on for that long: a client that
// chooses a short time must neither open the breaker for others nor close a connection, and a Redis that answers nobody opens it.
func (a *asker) callBeside(q *ask, c *call) {
	ctx, params, permit, end := q.context, c.params, c.permit, time.NewTimer(q.context.wait.most)
	defer end.Stop()
	type answer struct {
		result genguard.AdmitResult
		err    error
	}
	answered := make(chan answer, 1)
	a.inFlight.Add(1)
	a.background(func() {
		defer a.inFlight.Add(-1)
		result, err := decideCall(ctx, a.client, &params)
		permit.done(err)
		answered <- answer{result, err}
	})
	select {
	case got := <-answered:
		c.result, c.err = got.result, got.err
	case <-end.C:
		c.err = overdue{a.explain(q.context.wait.err), &fcall.OutcomeError{Function: "guard." + c.function(), Cause: context.DeadlineExceeded}}
	}
}

// An overdue error is that of a call that the request no longer waited for.
type overdue struct{ why, err error }

func (o overdue) Error() string   { return o.why.Error() }
func (o overdue) Unwrap() []error { return []error{o.why, o.err} }

// mayHaveRun reports whether a call failed and Redis may have run it, or may run it yet.
func mayHaveRun(err error) bool {
	return errors.Is(err, fcall.ErrOutcomeUnknown) || errors.Is(err, fcall.ErrReply)
}

// An unreachable error is explained by an attempt to connect that failed.
type unreachable struct{ err, dial error }

func (u unreachable) Error() string   { return u.err.Error() + ": " + u.dial.Error() }
func (u unreachable) Unwrap() []error { return []error{u.err, u.dial} }

// explain adds to an error why Redis cannot be reached, if that is known.
func (a *asker) explain(err error) error {
	if dial := a.client.Fcall().Unreachable(); dial != nil {
		return unreachable{err, dial}
	}
	return err
}

// A patience is how long a request waits for Redis.
type patience struct {
	most time.Duration
	err  error // of a request that has waited so long
	own  bool  // the request itself allows no more

	policy time.Duration // that the policy allows
}

// patienceOf returns the shortest of the policy's timeout, the request's own and the time to the context's deadline, as far as there are such.
func patienceOf(ctx context.Context, timeout, own time.Duration) patience {
	w := patience{most: timeout, err: ErrTimeout, policy: timeout}
	if 0 < own && own < w.most {
		w.most, w.err, w.own = own, errOwnTimeout, true
	}
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left < w.most {
			w.most, w.err, w.own = left, errCallersDeadline, true
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
	wait    patience
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
