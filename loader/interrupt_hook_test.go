package loader_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/loader"
)

// as names the deployer.
func as(name string) loader.ApplyOptions {
	return loader.ApplyOptions{By: name}
}

// deployRules are the ACL rules that a deploy needs besides those for FUNCTION, in the words of the error message.
func deployRules() []any {
	return []any{
		"~rlfunc:{deploy*", "+time", "+watch", "+multi", "+exec", "+discard", "+incr", "+unwatch",
		"+hset", "+hget", "+hdel", "+hgetall", "+rpush", "+ltrim", "+lrange",
	}
}

// A between is a hook that runs a function once, just before the first command or transaction with one that begins with these words.
type between struct {
	words []string
	ran   atomic.Bool
	run   func()
}

func (b *between) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (b *between) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			b.see(cmd)
		}
		return next(ctx, cmds)
	}
}

func (b *between) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		b.see(cmd)
		return next(ctx, cmd)
	}
}

func (b *between) see(cmd redis.Cmder) {
	for i, word := range b.words {
		if len(cmd.Args()) <= i || !strings.EqualFold(fmt.Sprint(cmd.Args()[i]), word) {
			return
		}
	}
	if b.ran.CompareAndSwap(false, true) {
		b.run()
	}
}

// Points in a deploy.
var (
	atVisit = []string{"WATCH", "rlfunc:{deploy}:revision"} // before a primary is looked at
	atLoad  = []string{"INCR"}                              // after the last look
)
