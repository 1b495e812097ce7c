package fcall

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A route leads to the node that a call found without its library.
type route struct {
	addr string // empty if there is one server, or if it is not known
	run  func(ctx context.Context, cmd redis.Cmder) error
}

// router is an *adapter.Client.
type router interface {
	// Node returns the address of the primary that serves a key, or "" if there is one server. It sends nothing.
	Node(key string) string
	Pipeline() redis.Pipeliner
	ReloadState(ctx context.Context)
	// ProcessAt sends a command without keys to the primary that serves key.
	ProcessAt(ctx context.Context, key string, cmd redis.Cmder) error
}

// routeOf returns the route to the node that serves a call's first key. Commands about functions have no key to route by.
func routeOf(ctx context.Context, caller Caller, cmd *command) route {
	if key, ok := firstKey(cmd.Args()); ok {
		switch c := caller.(type) {
		case *redis.ClusterClient:
			at := route{run: byKey(c, key)}
			if client := clientOf(ctx, c, key); client != nil {
				at.addr = client.Options().Addr
			}
			return at
		case router:
			return route{addr: c.Node(key), run: func(ctx context.Context, cmd redis.Cmder) error { return c.ProcessAt(ctx, key, cmd) }}
		}
	}
	return route{run: func(ctx context.Context, cmd redis.Cmder) error { return process(ctx, caller, cmd) }}
}

// clientOf returns the client of the node that serves a key, or nil if the node is not known. It may have to load the slots first.
func clientOf(ctx context.Context, c *redis.ClusterClient, key string) *redis.Client {
	client, _ := within(ctx, func() *redis.Client {
		client, _ := c.MasterForKey(ctx, key)
		return client
	})
	return client
}

// Node returns the address of the node that has a subject's keys, or "" if there is only one server or the caller does not know
// the address yet. It sends nothing.
func (c *Client) Node(ctx context.Context, subject Subject) string {
	return c.transport.node(ctx, Key(c.namespace, subject, ""))
}

// node returns the address of the node that serves a key, or "". It sends nothing.
func (t *transport) node(ctx context.Context, key string) string {
	if t.router != nil {
		return t.router.Node(key)
	}
	if t.slots != nil && t.slotsKnown.Load() {
		if node, err := t.slots.MasterForKey(ctx, key); err == nil {
			return node.Options().Addr
		}
	}
	return ""
}

// byKey runs a command in a transaction with one that reads the type of key: such a transaction is routed by the key and
// follows MOVED and ASK.
func byKey(c *redis.ClusterClient, key string) func(context.Context, redis.Cmder) error {
	return func(ctx context.Context, cmd redis.Cmder) error {
		pipe := c.TxPipeline()
		// TYPE, because functions run it too, so the user has the permission.
		look := pipe.Type(ctx, key)
		if err := pipe.Process(ctx, cmd); err != nil {
			return err
		}
		_, err := pipe.Exec(ctx)
		if cmdErr := cmd.Err(); cmdErr != nil && !strings.HasPrefix(cmdErr.Error(), "EXECABORT") {
			return cmdErr
		}
		if lookErr := look.Err(); lookErr != nil {
			return lookErr
		}
		return errors.Join(cmd.Err(), err)
	}
}

// firstKey returns the first key of an FCALL.
func firstKey(args []any) (string, bool) {
	if len(args) <= cmdHead || args[cmdHead-1] == 0 {
		return "", false
	}
	key, ok := args[cmdHead].(string)
	return key, ok
}

// within runs f and waits for it until the context ends. f continues then.
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
	case result := <-done: // prefer the result to the end of the context
		return result, false
	default:
		return result, true
	}
}
