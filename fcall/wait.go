package fcall

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// await sends a command and waits for its reply, but no longer than the context lasts: go-redis waits for as long as its
// own timeouts are, and a cancel never ends its wait. A late command is still under way: only its abandon may be used.
func (c *Client) await(ctx context.Context, cmd *command) (err error, late bool) {
	if _, hasDeadline := ctx.Deadline(); hasDeadline && c.bounded || ctx.Done() == nil {
		return process(ctx, c.caller, cmd), false
	}
	return within(ctx, func() error { return process(ctx, c.caller, cmd) })
}

// boundsItself tells that a Caller holds a context's deadline by itself, in every state: a ClusterClient may have to learn
// the cluster's slots first, with its own timeouts.
func boundsItself(caller Caller) bool {
	client, ok := caller.(*redis.Client)
	return ok && client.Options().ContextTimeoutEnabled
}

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
