package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/concurrency"
)

const acquireGoal = 6

// Rows of a semaphore written by hand, that ours are compared with.
const (
	zsetAcquire = "zset semaphore allowed"
	zsetAgain   = "zset semaphore allowed, the same holder"
	zsetRefused = "zset semaphore refused"
	zsetRenew   = "zset semaphore renewed"
	zsetRelease = "zset semaphore released"
)

// A holder's name as a process makes one.
func holderName(i int) string { return fmt.Sprintf("q3h5rT0cXkW1nYvZb7J%03d", i) }

func acquire(p concurrency.AcquireParams) command {
	return of(concurrency.New, (*concurrency.Client).Acquire, func(s fcall.Subject) concurrency.AcquireParams {
		p.Subject = s
		if p.Lease == 0 {
			p.Lease = 10 * time.Minute
		}
		return p
	})
}

// acquired are the calls by which the first n holders acquire places.
func acquired(n int, limit, weight int64) (calls []command) {
	for i := range n {
		calls = append(calls, acquire(concurrency.AcquireParams{Holder: holderName(i), Limit: limit, Weight: weight}))
	}
	return calls
}

func concurrencyWorkloads() []workload {
	next := func(n int, limit, weight int64) command {
		return acquire(concurrency.AcquireParams{Holder: holderName(n), Limit: limit, Weight: weight})
	}
	again := acquire(concurrency.AcquireParams{Holder: holderName(0), Limit: 10, Lease: time.Hour})
	renew := of(concurrency.New, (*concurrency.Client).Renew, func(s fcall.Subject) concurrency.RenewParams {
		return concurrency.RenewParams{Subject: s, Holder: holderName(0), Lease: time.Hour}
	})
	release := of(concurrency.New, (*concurrency.Client).Release, func(s fcall.Subject) concurrency.ReleaseParams {
		return concurrency.ReleaseParams{Subject: s, Holder: holderName(0)}
	})
	two, ten := acquired(2, 10, 0), acquired(10, 10, 0)
	return []workload{
		{name: "concurrency.acquire allowed, 2 of 10 in use", rival: zsetAcquire, prepare: after(two...), call: next(2, 10, 0), expect: "{Allowed:true Held:false Fence:", most: acquireGoal},
		{name: "concurrency.acquire allowed, first use", call: next(0, 10, 0), expect: "{Allowed:true Held:false Fence:", most: acquireGoal},
		{name: "concurrency.acquire allowed, 200 of 1,000 in use", subjects: 2000, prepare: after(acquired(200, 1000, 0)...), call: next(200, 1000, 0), expect: "{Allowed:true Held:false Fence:", most: acquireGoal},
		{name: "concurrency.acquire allowed, the same holder", rival: zsetAgain, prepare: after(two...), call: again, expect: "{Allowed:true Held:true Fence:"},
		{name: "concurrency.acquire refused", rival: zsetRefused, prepare: after(ten...), call: next(10, 10, 0), expect: "{Allowed:false Held:false Fence:0 InUse:10 "},
		{name: "concurrency.renew", rival: zsetRenew, prepare: after(two...), call: renew, expect: "{Outcome:renewed "},
		{name: "concurrency.release", rival: zsetRelease, prepare: after(two...), call: release, expect: "{Outcome:released"},
	}
}

// The semaphore that is commonly written by hand: a sorted set of the holders by the end of their leases. It has no weights, no fences, and
// no answer to how long a refused caller waits; its leases end early if the clock is set back and forward.
const (
	zsetNow = "local t = redis.call('TIME')\nlocal now = t[1] * 1000 + math.floor(t[2] / 1000)\n"

	zsetAcquireText = zsetNow + `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZSCORE', KEYS[1], ARGV[1]) or redis.call('ZCARD', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return 1
end
return 0`
	zsetRenewText = zsetNow + `
local ends = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not ends or tonumber(ends) <= now then
  return 0
end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`
	zsetReleaseText = `return redis.call('ZREM', KEYS[1], ARGV[1])`
)

func zsetWorkloads(ctx context.Context, c *redis.Client, _ tap) ([]workload, error) {
	var failed error
	script := func(text string) func(args ...any) command {
		sha, err := c.ScriptLoad(ctx, text).Result()
		if err != nil {
			failed = fmt.Errorf("load the zset semaphore: %w", err)
		}
		return func(args ...any) command {
			return func(s fcall.Subject) []any {
				return append([]any{"EVALSHA", sha, 1, "semaphore:" + string(s)}, args...)
			}
		}
	}
	acquire, renew, release := script(zsetAcquireText), script(zsetRenewText), script(zsetReleaseText)
	const lease, hour = 600_000, 3_600_000
	var ten []command
	for i := range 10 {
		ten = append(ten, acquire(holderName(i), 10, lease))
	}
	return []workload{
		{name: zsetAcquire, prepare: after(ten[:2]...), call: ten[2], expect: ":1\r\n"},
		{name: zsetAgain, prepare: after(ten[:2]...), call: acquire(holderName(0), 10, hour), expect: ":1\r\n"},
		{name: zsetRefused, prepare: after(ten...), call: acquire(holderName(10), 10, lease), expect: ":0\r\n"},
		{name: zsetRenew, prepare: after(ten[:2]...), call: renew(holderName(0), hour), expect: ":1\r\n"},
		{name: zsetRelease, prepare: after(ten[:2]...), call: release(holderName(0)), expect: ":1\r\n"},
	}, failed
}
