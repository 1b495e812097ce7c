package fcall

import (
	"context"
	"errors"
)

// A Detachable is the context of a call that continues after its caller has stopped waiting. Its Done is nil, so go-redis keeps
// the connection; [Late] returns the answer.
type Detachable interface {
	context.Context
	// Detached returns two channels, each of which may be nil. The caller stops waiting when one of them is closed.
	Detached() (one, other <-chan struct{})
	// DetachErr returns why the caller has stopped waiting, or nil. An error of package context means a reason of its own, which says
	// nothing about the server.
	DetachErr() error
}

// leftEarly reports whether a caller stopped waiting for a reason of its own: it was cancelled, or the deadline of one that collects
// the answer later has passed.
func leftEarly(ctx context.Context, err error) bool {
	_, collects := ctx.(Detachable)
	return errors.Is(err, context.Canceled) || collects && errors.Is(err, context.DeadlineExceeded)
}

// doneChannels returns the channels that end a caller's wait.
func doneChannels(ctx context.Context) (one, other <-chan struct{}) {
	if l, ok := ctx.(Detachable); ok {
		return l.Detached()
	}
	return ctx.Done(), nil
}

// detachErr returns why a caller has stopped waiting, or nil.
func detachErr(ctx context.Context) error {
	if l, ok := ctx.(Detachable); ok {
		return l.DetachErr()
	}
	return ctx.Err()
}

// Late returns the call that was in flight when its caller stopped waiting with err, or nil if err is another error or the call
// did not run.
func Late(err error) *Pending {
	var lost *OutcomeError
	if !errors.As(err, &lost) {
		return nil
	}
	return lost.late
}

// Wait waits until a call of Late has ended, at most as long as the client's own timeouts.
func (p *Pending) Wait() {
	if p.cmd != nil && p.cmd.done != nil {
		<-p.cmd.done
		p.cmd.done = nil
	}
}

// within runs f and waits for it until the context ends. f continues then.
func within[T any](ctx context.Context, f func() T) (result T, late bool) {
	one, other := doneChannels(ctx)
	if one == nil && other == nil {
		return f(), false
	}
	done := make(chan T, 1)
	go func() { done <- f() }()
	select {
	case result := <-done:
		return result, false
	case <-one:
	case <-other:
	}
	select {
	case result := <-done: // prefer the result to the end of the context
		return result, false
	default:
		return result, true
	}
}
