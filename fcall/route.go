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

// ringCaller is a *redis.Ring.
type ringCaller interface {
	GetShardClientForKey(key string) (*redis.Client, error)
}

// clusterCaller is a *redis.ClusterClient.
type clusterCaller interface {
	Caller
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	TxPipeline() redis.Pipeliner
}

// router is an *adapter.Client.
type router interface {
	// Node returns the address of the primary that serves a key, or "" if there is one server. It sends nothing.
	Node(key string) string
	// ProcessAt sends a command without keys to the primary that serves key.
	ProcessAt(ctx context.Context, key string, cmd redis.Cmder) error
}

// routeOf returns the route to the node that serves a call's first key. Commands about functions have no key to route by.
func routeOf(ctx context.Context, caller Caller, cmd *command) route {
	direct := route{run: func(ctx context.Context, cmd redis.Cmder) error { return process(ctx, caller, cmd) }}
	key, ok := firstKey(cmd.Cmd.Args())
	if !ok {
		return direct
	}
	switch c := caller.(type) {
	case ringCaller:
		shard, err := c.GetShardClientForKey(key)
		if err != nil {
			return direct
		}
		return route{addr: shard.Options().Addr, run: func(ctx context.Context, cmd redis.Cmder) error {
			return process(ctx, shard, cmd)
		}}
	case clusterCaller:
		at := route{addr: cmd.redirected(), run: byKey(c, key)}
		if at.addr == "" {
			at.addr = addrOf(ctx, c, cmd.Cmd.Args())
		}
		return at
	case router:
		return route{addr: c.Node(key), run: func(ctx context.Context, cmd redis.Cmder) error {
			return c.ProcessAt(ctx, key, cmd)
		}}
	}
	return direct
}

// addrOf returns the address of the node that serves a call's first key, or "" if there is only one node or the address is not
// known.
func addrOf(ctx context.Context, caller Caller, args []any) string {
	if key, ok := firstKey(args); ok {
		if c, adapter := caller.(router); adapter {
			return c.Node(key)
		}
		if client := clientOf(ctx, caller, key); client != nil {
			return client.Options().Addr
		}
	}
	return ""
}

// clientOf returns the client of the node that serves a key, or nil if there is only one node or the node is not known.
func clientOf(ctx context.Context, caller Caller, key string) *redis.Client {
	switch c := caller.(type) {
	case ringCaller:
		client, _ := c.GetShardClientForKey(key)
		return client
	case clusterCaller: // which may have to load the slots first
		client, _ := within(ctx, func() *redis.Client {
			client, _ := c.MasterForKey(ctx, key)
			return client
		})
		return client
	}
	return nil
}

// Node returns the address of the node that has a subject's keys, or "" if there is only one server or the caller does not know
// the address yet. It sends nothing.
func (c *Client) Node(ctx context.Context, subject Subject) string {
	var client *redis.Client
	switch caller := c.caller.(type) {
	case ringCaller:
		client, _ = caller.GetShardClientForKey(Key(c.namespace, subject, ""))
	case clusterCaller:
		if c.transport.slotsKnown.Load() {
			client, _ = caller.MasterForKey(ctx, Key(c.namespace, subject, ""))
		}
	case router:
		return caller.Node(Key(c.namespace, subject, ""))
	}
	if client == nil {
		return ""
	}
	return client.Options().Addr
}

// byKey runs a command in a transaction with one that reads the type of key: such a transaction is routed by the key and
// follows MOVED and ASK.
func byKey(c clusterCaller, key string) func(context.Context, redis.Cmder) error {
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
	if len(args) <= cmdHead {
		return "", false
	}
	switch n := args[cmdHead-1].(type) {
	case int:
		if n == 0 {
			return "", false
		}
	case keyCount:
		if n.cmd.keys == 0 {
			return "", false
		}
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
