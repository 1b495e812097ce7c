package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3"
	ulule "github.com/ulule/limiter/v3/drivers/store/redis"
)

const (
	redisRate        = "redis_rate allowed"
	redisRateRefused = "redis_rate refused"
)

// A tap is a hook of go-redis that keeps the last EVALSHA: what a peer's library sends, as it sends it.
type tap struct{ args []any }

func (t *tap) DialHook(next redis.DialHook) redis.DialHook { return next }

func (t *tap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (t *tap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.EqualFold(cmd.Name(), "evalsha") {
			t.args = cmd.Args()
		}
		return next(ctx, cmd)
	}
}

// peerWorkloads are the scripts of other limiters at 100 a minute, each taken from what its library sends.
func peerWorkloads(ctx context.Context, c *redis.Client) ([]workload, error) {
	t := &tap{}
	options := *c.Options()
	client := redis.NewClient(&options)
	defer client.Close()
	client.AddHook(t)
	// capture runs one call and returns it for any subject.
	capture := func(call func() error) (func(int) []any, error) {
		if err := call(); err != nil {
			return nil, err
		}
		args := t.args
		return func(i int) []any {
			own := append([]any(nil), args...)
			own[3] = fmt.Sprintf("rate:%s", subject(i)) // EVALSHA sha 1 key
			return own
		}, nil
	}
	rate := redis_rate.NewLimiter(client)
	allowN := func(n int) (func(int) []any, error) {
		return capture(func() error { _, err := rate.AllowN(ctx, "u", redis_rate.PerMinute(100), n); return err })
	}
	one, err := allowN(1)
	if err != nil {
		return nil, fmt.Errorf("call redis_rate: %w", err)
	}
	ten, err := allowN(10)
	if err != nil {
		return nil, fmt.Errorf("call redis_rate: %w", err)
	}
	all, err := allowN(99)
	if err != nil {
		return nil, fmt.Errorf("call redis_rate: %w", err)
	}
	fixed, err := newUlule(client)
	if err != nil {
		return nil, err
	}
	increment, err := capture(func() error { _, err := fixed.Get(ctx, "u"); return err })
	if err != nil {
		return nil, fmt.Errorf("call ulule/limiter: %w", err)
	}
	return []workload{
		{name: redisRate, subjects: 10_000, prepare: after(one), call: one, expect: "*4\r\n:1\r\n"},
		{name: redisRateRefused, subjects: 10_000, prepare: after(all), call: ten, expect: "*4\r\n:0\r\n"},
		{name: "ulule/limiter (fixed window)", subjects: 10_000, prepare: after(increment), call: increment, expect: "*2\r\n:2\r\n"},
	}, nil
}

// newUlule returns ulule's limiter at 100 a minute.
func newUlule(c *redis.Client) (*limiter.Limiter, error) {
	store, err := ulule.NewStore(c)
	if err != nil {
		return nil, fmt.Errorf("make ulule's store: %w", err)
	}
	return limiter.New(store, limiter.Rate{Period: time.Minute, Limit: 100}), nil
}
