package fcall

import (
	"context"
	"errors"
)

// A Leaver is the context of a call that goes on when its caller leaves. Done of such a context is nil, so that the connection stays as it
// is; the answer is there for [Late].
type Leaver interface {
	context.Context
	// Leave returns two channels, each of which may be nil. The caller leaves when one of them is closed.
	Leave() (one, other <-chan struct{})
	// Left is why the caller has left; nil while it has not.
	Left() error
}

// leave returns the channels that end a call's wait.
func leave(ctx context.Context) (one, other <-chan struct{}) {
	if l, ok := ctx.(Leaver); ok {
		return l.Leave()
	}
	return ctx.Done(), nil
}

// left returns why a caller waits no longer; nil while it does.
func left(ctx context.Context) error {
	if l, ok := ctx.(Leaver); ok {
		return l.Left()
	}
	return ctx.Err()
}

// Late returns the call whose caller left while it was under way, if err says so and the call may have run; else nil.
func Late(err error) *Pending {
	var lost *OutcomeError
	if !errors.As(err, &lost) {
		return nil
	}
	return lost.late
}

// Wait returns once a call of Late has ended. It takes as long as the client's own timeouts.
func (p *Pending) Wait() {
	if p.cmd != nil && p.cmd.done != nil {
		<-p.cmd.done
		p.cmd.done = nil
	}
}

// within runs f, and waits for it no longer than the context lasts; f goes on then.
func within[T any](ctx context.Context, f func() T) (result T, late bool) {
	one, other := leave(ctx)
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
	case result := <-done: // it is worth more than the end of the context
		return result, false
	default:
		return result, true
	}
}
