package fcall

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A place is the node that a call found without its library.
type place struct {
	name string // its address; "" where there is only one, or where it is not known
	run  func(ctx context.Context, cmd redis.Cmder) error
}

// sharded is a *redis.Ring.
type sharded interface {
	GetShardClientForKey(key string) (*redis.Client, error)
}

// slotted is a *redis.ClusterClient.
type slotted interface {
	Caller
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	TxPipeline() redis.Pipeliner
}

// placeOf finds the node that serves a call's first key: a command about functions has no key that would lead it there.
func placeOf(ctx context.Context, caller Caller, cmd *command) place {
	direct := place{run: func(ctx context.Context, cmd redis.Cmder) error { return process(ctx, caller, cmd) }}
	key, ok := firstKey(cmd.Cmd.Args())
	if !ok {
		return direct
	}
	switch c := caller.(type) {
	case sharded:
		shard, err := c.GetShardClientForKey(key)
		if err != nil {
			return direct
		}
		return place{name: shard.Options().Addr, run: func(ctx context.Context, cmd redis.Cmder) error {
			return process(ctx, shard, cmd)
		}}
	case slotted:
		at := place{name: cmd.redirected(), run: byKey(c, key)}
		if at.name == "" {
			at.name = nodeOf(ctx, c, cmd.Cmd.Args())
		}
		return at
	}
	return direct
}

// nodeOf is the address of the node that serves a call's first key, as far as the caller knows without asking; "" where there is only
// one, or where it is not known.
func nodeOf(ctx context.Context, caller Caller, args []any) string {
	key, ok := firstKey(args)
	if !ok {
		return ""
	}
	var client *redis.Client
	switch c := caller.(type) {
	case sharded:
		client, _ = c.GetShardClientForKey(key)
	case slotted: // which may have to learn the slots first
		client, _ = within(ctx, func() *redis.Client {
			client, _ := c.MasterForKey(ctx, key)
			return client
		})
	}
	if client == nil {
		return ""
	}
	return client.Options().Addr
}

// Node returns the address of the node that has a subject's keys, as far as it is known without asking; "" where there is only one server.
func (c *Client) Node(ctx context.Context, subject Subject) string {
	var client *redis.Client
	switch caller := c.caller.(type) {
	case sharded:
		client, _ = caller.GetShardClientForKey(Key(c.namespace, subject, ""))
	case slotted:
		if c.engine.answered.Load() {
			client, _ = caller.MasterForKey(ctx, Key(c.namespace, subject, ""))
		}
	}
	if client == nil {
		return ""
	}
	return client.Options().Addr
}

// byKey runs a command in a transaction with one that only looks at the key: such a transaction goes where the key is,
// and follows MOVED and ASK.
func byKey(c slotted, key string) func(context.Context, redis.Cmder) error {
	return func(ctx context.Context, cmd redis.Cmder) error {
		pipe := c.TxPipeline()
		// TYPE, because a function runs it too: its user has the right to.
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

// process is a Caller's Process, and returns the command's own error.
func process(ctx context.Context, caller Caller, cmd redis.Cmder) error {
	err := caller.Process(ctx, cmd)
	if cmdErr := cmd.Err(); cmdErr != nil {
		return cmdErr
	}
	if err != nil {
		cmd.SetErr(err)
	}
	return err
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
