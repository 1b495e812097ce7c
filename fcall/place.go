package fcall

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A place is the node that a call found without its library.
type place struct {
	name string // its address; "" where there is only one, or where it can not be told
	run  func(ctx context.Context, cmd redis.Cmder) error
}

// placeOf finds the node that serves a call's first key: a command about functions has no key that would lead it there.
func placeOf(ctx context.Context, caller Caller, cmd *command) place {
	direct := place{run: func(ctx context.Context, cmd redis.Cmder) error { return process(ctx, caller, cmd) }}
	key, ok := firstKey(cmd.Cmd.Args())
	if !ok {
		return direct
	}
	switch c := caller.(type) {
	case interface {
		GetShardClientForKey(key string) (*redis.Client, error)
	}: // *redis.Ring
		shard, err := c.GetShardClientForKey(key)
		if err != nil {
			return direct
		}
		return place{name: shard.Options().Addr, run: func(ctx context.Context, cmd redis.Cmder) error {
			return process(ctx, shard, cmd)
		}}
	case interface {
		MasterForKey(ctx context.Context, key string) (*redis.Client, error)
		TxPipeline() redis.Pipeliner
	}: // *redis.ClusterClient
		at := place{name: cmd.redirected(), run: byKey(c, key)}
		if at.name == "" {
			if node, err := c.MasterForKey(ctx, key); err == nil {
				at.name = node.Options().Addr
			}
		}
		return at
	case *redis.AutoPipeliner:
		// It does not say what it is of. A WATCH goes to the node of its key, and is taken back at the end.
		at := place{name: cmd.redirected(), run: byKey(c, key)}
		if at.name == "" {
			_ = c.Watch(ctx, func(tx *redis.Tx) error { // without a name, the nodes are healed one after the other
				at.name, _, _ = strings.Cut(strings.TrimPrefix(tx.String(), "Redis<"), " ")
				return nil
			}, key)
		}
		return at
	}
	return direct
}

// byKey runs a command in a transaction with one that only looks at the key: such a transaction goes where the key is,
// and follows MOVED and ASK.
func byKey(c interface{ TxPipeline() redis.Pipeliner }, key string) func(context.Context, redis.Cmder) error {
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

// process is a Caller's Process, waiting for the reply also where Process does not: the deferred face of the auto-pipeliner.
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
	if n, _ := args[cmdHead-1].(int); n == 0 {
		return "", false
	}
	key, ok := args[cmdHead].(string)
	return key, ok
}
