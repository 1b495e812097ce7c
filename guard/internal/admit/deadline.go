package admit

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// ErrTimeout means that Redis did not answer within the policy's timeout.
var ErrTimeout = errors.New("no answer from Redis within the timeout")

// errOwnTimeout means that Redis did not answer within the time that the request itself allows. That says nothing about Redis.
var errOwnTimeout = fmt.Errorf("no answer from Redis within the request's own timeout: %w", context.DeadlineExceeded)

// An unreachable error is explained by an attempt to connect that failed.
type unreachable struct{ err, dial error }

func (u unreachable) Error() string   { return u.err.Error() + ": " + u.dial.Error() }
func (u unreachable) Unwrap() []error { return []error{u.err, u.dial} }

// Explain adds to an error why Redis cannot be reached, if that is known.
func (b *Backend) Explain(err error) error {
	if dial := b.Client.Fcall().Unreachable(); dial != nil {
		return unreachable{err, dial}
	}
	return err
}

// A Wait is how long a request waits for Redis.
type Wait struct {
	For time.Duration
	Err error // of a request that has waited so long
}

// WaitOf returns the shorter of the policy's timeout and the request's own, if it has one.
func WaitOf(timeout, own time.Duration) Wait {
	if 0 < own && own < timeout {
		return Wait{own, errOwnTimeout}
	}
	return Wait{timeout, ErrTimeout}
}

// timers limit the waits of requests. Waits that begin within a 16th of the timeout share a timer.
type timers struct{ last atomic.Pointer[sharedTimer] }

// A sharedTimer ends the waits of some requests.
type sharedTimer struct {
	endsAt  monotime.Time
	expired chan struct{}
}

// after returns a timer that ends after d, or up to a 16th of d earlier.
func (c *timers) after(d time.Duration, at monotime.Time) *sharedTimer {
	if t := c.last.Load(); t != nil {
		if left := t.endsAt.Since(at); left <= d && left >= d-d/16 {
			return t
		}
	}
	t := &sharedTimer{endsAt: at.Add(d), expired: make(chan struct{})}
	time.AfterFunc(d, func() { close(t.expired) })
	c.last.Store(t)
	return t
}

// A callContext is the context of a call, which may outlive its request. It has the request's values, but no end.
type callContext struct {
	request context.Context
	timer   *sharedTimer
	expired error // once the timer has ended the wait
}

func (*callContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (*callContext) Done() <-chan struct{}       { return nil }
func (*callContext) Err() error                  { return nil }
func (p *callContext) Value(key any) any         { return p.request.Value(key) }

// Detached returns channels that end the request's wait.
func (p *callContext) Detached() (one, other <-chan struct{}) {
	return p.request.Done(), p.timer.expired
}

// DetachErr returns why the request's wait ended, or nil if it did not.
func (p *callContext) DetachErr() error {
	if err := p.request.Err(); err != nil {
		return err
	}
	select {
	case <-p.timer.expired:
		return p.expired
	default:
		return nil
	}
}
