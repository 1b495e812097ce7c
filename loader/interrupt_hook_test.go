package loader_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

// patient are options that wait for other deployers.
var patient = loader.LockOptions{Wait: time.Minute}

// as names the deployer.
func as(name string) loader.ApplyOptions {
	return loader.ApplyOptions{Lock: loader.LockOptions{By: name}}
}

// deployRules are the ACL rules that a deploy needs besides those for FUNCTION, in the words of the error message.
func deployRules() []any {
	return []any{
		"~rlfunc:{deploy*", "+time", "+watch", "+multi", "+exec", "+discard", "+get", "+getex", "+set", "+del", "+pttl", "+unwatch",
		"+hset", "+hget", "+hdel", "+hgetall", "+rpush", "+ltrim", "+lrange",
	}
}

// A between is a hook that runs a function once, just before the first command that begins with these words.
type between struct {
	words []string
	ran   atomic.Bool
	run   func()
}

func (b *between) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (b *between) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (b *between) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if b.means(cmd.Args()) && b.ran.CompareAndSwap(false, true) {
			b.run()
		}
		return next(ctx, cmd)
	}
}

func (b *between) means(args []any) bool {
	if len(args) < len(b.words) {
		return false
	}
	for i, word := range b.words {
		if !strings.EqualFold(fmt.Sprint(args[i]), word) {
			return false
		}
	}
	return true
}

// interrupted returns a client that runs f once, just before its first command that begins with these words.
func interrupted(t *testing.T, e engines.Engine, f func(), words ...string) *redis.Client {
	t.Helper()
	c := e.Connect(t, nil)
	c.AddHook(&between{words: words, run: f})
	return c
}

// Points in the load of a library.
var (
	atLock  = []string{"WATCH"} // before the lock is looked at
	atQueue = []string{"MULTI"} // after the last look
	atExec  = []string{"EXEC"}  // the last moment
)
