package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislimiter"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	"github.com/ulule/limiter/v3"
	ulule "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/rlfunc/rlfunc/fcall"
)

// Rows of other limiters, and of a semaphore by hand, that ours are compared with.
const (
	redisRate       = "redis_rate"
	fixedWindowPeer = "ulule/limiter (fixed window)"
	zsetAcquire     = "zset semaphore, 2 of 10 in use"
)

// A tap is a go-redis hook that keeps the last command of each name, as a peer's library sends it.
type tap map[string][]any

func (t tap) DialHook(next redis.DialHook) redis.DialHook { return next }

func (t tap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		for _, cmd := range commands {
			t[cmd.Name()] = cmd.Args()
		}
		return next(ctx, commands)
	}
}

func (t tap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		t[cmd.Name()] = cmd.Args()
		return next(ctx, cmd)
	}
}

// sent returns the last command of that name, for any subject. at is the position of its key, or 0 for none.
func (t tap) sent(name string, at int) command {
	args := t[name]
	return func(s fcall.Subject) []any {
		own := append([]any(nil), args...)
		if at > 0 {
			own[at] = "rate:" + string(s)
		}
		return own
	}
}

// peerWorkloads returns scripts and other limiters at 100 per hour, with the commands that each library sends.
func peerWorkloads(ctx context.Context, c *redis.Client) ([]workload, error) {
	t := tap{}
	options := *c.Options()
	client := redis.NewClient(&options)
	defer client.Close()
	client.AddHook(t)
	var all []workload
	for _, peer := range []func(context.Context, *redis.Client, tap) ([]workload, error){
		redisRateWorkloads, ululeWorkloads, throttledWorkloads, rueidisWorkloads, zsetWorkloads,
	} {
		rows, err := peer(ctx, client, t)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

func redisRateWorkloads(ctx context.Context, c *redis.Client, t tap) ([]workload, error) {
	limiter := redis_rate.NewLimiter(c)
	allow := map[int]command{}
	for _, n := range []int{1, spent} {
		if _, err := limiter.AllowN(ctx, "u", redis_rate.PerHour(100), n); err != nil {
			return nil, fmt.Errorf("call redis_rate: %w", err)
		}
		allow[n] = t.sent("evalsha", 3) // EVALSHA sha 1 key
	}
	return []workload{{name: redisRate, prepare: after(allow[spent]), call: allow[1], expect: "*4\r\n:1\r\n:4"}}, nil
}

func ululeWorkloads(ctx context.Context, c *redis.Client, t tap) ([]workload, error) {
	fixed, err := newUlule(c)
	if err != nil {
		return nil, err
	}
	if _, err := fixed.Get(ctx, "u"); err != nil {
		return nil, fmt.Errorf("call ulule/limiter: %w", err)
	}
	increment := t.sent("evalsha", 3)
	return []workload{{name: fixedWindowPeer, prepare: after(increment), call: increment, expect: "*2\r\n:2\r\n"}}, nil
}

// throttledWorkloads returns the workloads of throttled. Its decision is TIME and GET in a pipeline. To admit, a script then swaps the
// value if it has not changed, and otherwise throttled starts over.
func throttledWorkloads(ctx context.Context, c *redis.Client, t tap) ([]workload, error) {
	limiter, err := newThrottled(c)
	if err != nil {
		return nil, err
	}
	for range 2 { // the first one makes the key
		if _, _, err := limiter.RateLimitCtx(ctx, "u", 1); err != nil {
			return nil, fmt.Errorf("call throttled: %w", err)
		}
	}
	swap, get, clock := t.sent("eval", 3), t.sent("get", 1), t.sent("time", 0) // EVAL script 1 key old new ttl
	stored := t["eval"][4]
	prepare := func(s fcall.Subject, _ time.Time) [][]any { return [][]any{{"SET", get(s)[1], stored, "EX", 3600}} }
	return []workload{{name: "throttled v2: TIME, GET, EVAL", prepare: prepare, call: swap, also: []command{get, clock}, expect: ":1\r\n"}}, nil
}

// rueidisWorkloads returns the workloads of rueidislimiter. Its windows begin with a call, by the clock of its process. Its script does not
// have the limit, so refused and allowed calls cost the same, and refused ones have no row.
func rueidisWorkloads(ctx context.Context, c *redis.Client, t tap) ([]workload, error) {
	client, err := dialRueidis(c)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	limiter, err := newRueidis(tappedRueidis{client, t})
	if err != nil {
		return nil, err
	}
	if _, err := limiter.Allow(ctx, "u"); err != nil {
		return nil, fmt.Errorf("call rueidislimiter: %w", err)
	}
	args := t["evalsha"] // EVALSHA sha 2 counter end cost end now
	count := func(s fcall.Subject) []any {
		own, now := forSubject(args, "u", s), time.Now()
		own[6], own[7] = now.Add(time.Hour).UnixMilli(), now.UnixMilli()
		return own
	}
	return []workload{{name: "rueidislimiter (fixed window)", prepare: after(count), call: count, expect: "*2\r\n:2\r\n"}}, nil
}

// forSubject is an EVALSHA of a subject for another one.
func forSubject(args []any, of string, s fcall.Subject) []any {
	own := append([]any(nil), args...)
	for i, key := range keys(own) {
		own[3+i] = strings.Replace(key, "{"+of+"}", "{"+string(s)+"}", 1)
	}
	return own
}

// zsetText is the semaphore that is commonly written by hand: a sorted set of the holders by the end of their leases. It has no weights, no
// fences, and no answer to how long a refused caller waits; its leases end early if the clock is set back and forward.
const zsetText = `local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZSCORE', KEYS[1], ARGV[1]) or redis.call('ZCARD', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return 1
end
return 0`

func zsetWorkloads(ctx context.Context, c *redis.Client, _ tap) ([]workload, error) {
	sha, err := c.ScriptLoad(ctx, zsetText).Result()
	if err != nil {
		return nil, fmt.Errorf("load the zset semaphore: %w", err)
	}
	take := func(i int) command {
		return func(s fcall.Subject) []any {
			return []any{"EVALSHA", sha, 1, "semaphore:" + string(s), holderName(i), 10, 600_000}
		}
	}
	return []workload{{name: zsetAcquire, prepare: after(take(0), take(1)), call: take(2), expect: ":1\r\n"}}, nil
}

// A tappedRueidis is a rueidis client that records its commands in tap.
type tappedRueidis struct {
	rueidis.Client
	tap tap
}

// Do implements rueidis.Client.
func (c tappedRueidis) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	var args []any
	for _, word := range cmd.Commands() {
		args = append(args, strings.Clone(word)) // the limiter and the client reuse their buffers
	}
	c.tap[strings.ToLower(args[0].(string))] = args
	return c.Client.Do(ctx, cmd)
}

// newUlule returns ulule's limiter at 100 an hour.
func newUlule(c *redis.Client) (*limiter.Limiter, error) {
	store, err := ulule.NewStore(c)
	if err != nil {
		return nil, fmt.Errorf("create ulule's store: %w", err)
	}
	return limiter.New(store, limiter.Rate{Period: time.Hour, Limit: 100}), nil
}

// newThrottled returns throttled's limiter at 100 an hour.
func newThrottled(c *redis.Client) (*throttled.GCRARateLimiterCtx, error) {
	store, err := goredisstore.NewCtx(c, "throttled:")
	if err != nil {
		return nil, fmt.Errorf("create throttled's store: %w", err)
	}
	limiter, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerHour(100), MaxBurst: 99})
	if err != nil {
		return nil, fmt.Errorf("create throttled's limiter: %w", err)
	}
	return limiter, nil
}

// rueidisOptions are those of c's server with rueidis' defaults, which pipeline all calls on up to 4 connections.
func rueidisOptions(c *redis.Client) rueidis.ClientOption {
	o := c.Options()
	return rueidis.ClientOption{
		InitAddress: []string{o.Addr}, Username: o.Username, Password: o.Password, SelectDB: o.DB,
		DialCtxFn: func(ctx context.Context, _ string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return o.Dialer(ctx, o.Network, o.Addr) // a unix socket, or TLS as the URL says
		},
	}
}

func dialRueidis(c *redis.Client) (rueidis.Client, error) {
	client, err := rueidis.NewClient(rueidisOptions(c))
	if err != nil {
		return nil, fmt.Errorf("connect rueidis to %s: %w", c.Options().Addr, err)
	}
	return client, nil
}

// newRueidis returns rueidislimiter at 100 an hour.
func newRueidis(client rueidis.Client) (rueidislimiter.RateLimiterClient, error) {
	limiter, err := rueidislimiter.NewRateLimiter(rueidislimiter.RateLimiterOption{
		ClientBuilder: func(rueidis.ClientOption) (rueidis.Client, error) { return client, nil },
		Limit:         100, Window: time.Hour,
	})
	if err != nil {
		return nil, fmt.Errorf("make rueidislimiter: %w", err)
	}
	return limiter, nil
}
