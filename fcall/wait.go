package fcall

import "context"

// within runs f, and waits for it no longer than the context lasts; f goes on then.
func within[T any](ctx context.Context, f func() T) (result T, late bool) {
	if ctx.Done() == nil {
		return f(), false
	}
	done := make(chan T, 1)
	go func() { done <- f() }()
	select {
	case result := <-done:
		return result, false
	case <-ctx.Done():
	}
	select {
	case result := <-done: // it is worth more than the end of the context
		return result, false
	default:
		return result, true
	}
}
