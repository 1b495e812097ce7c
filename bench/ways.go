package main

import (
	"context"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	adapter "github.com/rlfunc/rlfunc/fcall/adapter/rueidis"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

const (
	rateRival   = "redis_rate 100/h"
	rateInTime  = "redis_rate 100/h, deadline 50 ms"
	ululeRival  = "ulule/limiter 100/h"
	windowRival = "rueidislimiter 100/h"
)

// callerRows measures decisions in a service on the server's machine. Their context can be cancelled, as that of a request, and has no
// deadline unless the row says so.
func callerRows(ctx context.Context, srv *server, s settings) ([]Row, error) {
	client := srv.serviceClient()
	defer client.Close()
	all, done, err := ways(ctx, client)
	if err != nil {
		return nil, err
	}
	defer done()
	return crowds(ctx, "caller", "decisions/s", all, srv, s)
}

// ways returns the ways to compare. done closes their connections.
func ways(ctx context.Context, rdb *redis.Client) (all []way, done func(), err error) {
	var closers []func()
	done = func() {
		for _, end := range closers {
			end()
		}
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	gcraPeer := redis_rate.NewLimiter(rdb)
	windowPeer, err := newUlule(rdb)
	if err != nil {
		return nil, nil, err
	}
	other, err := dialRueidis(rdb)
	if err != nil {
		return nil, nil, err
	}
	closers = append(closers, other.Close)
	countPeer, err := newRueidis(other)
	if err != nil {
		return nil, nil, err
	}
	options := rueidisOptions(rdb)
	options.DisableRetry = true
	adapted, err := adapter.New(options)
	if err != nil {
		return nil, nil, err
	}
	closers = append(closers, adapted.Rueidis.Close)

	with := func(call func(context.Context, int) error) func() func(int) error {
		return func() func(int) error { return func(i int) error { return call(ctx, i) } }
	}
	inTime := func(call func(context.Context, int) error) func() func(int) error {
		return with(func(ctx context.Context, i int) error {
			ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			return call(ctx, i)
		})
	}
	gcra := func(caller fcall.Caller, o fcall.Options) func(context.Context, int) error {
		c, e := ratelimit.New(caller, o)
		if e != nil {
			err = e
		}
		return func(ctx context.Context, i int) error {
			_, err := c.GCRA(ctx, ratelimit.GCRAParams{Subject: subject(i), Limit: 100, Period: time.Hour})
			return err
		}
	}
	redisRate := func(ctx context.Context, i int) error {
		_, err := gcraPeer.Allow(ctx, string(subject(i)), redis_rate.PerHour(100))
		return err
	}
	hot, clients := policy.Limit{Name: "all", By: policy.By{policy.ByAll}, Kind: policy.GCRA, Limit: 1_000_000, Window: 100 * time.Millisecond}, make([]string, callerSubjects)
	for i := range clients {
		clients[i] = "ip=" + string(subject(i)) // a decision from memory takes less time than to make one
	}
	hot.Prefetch = &policy.Prefetch{Most: 10_000}
	guarded := func(l policy.Limit) func() func(int) error {
		g, e := guard.New(rdb, &policy.Policy{Endpoints: []policy.Endpoint{{Name: "chat", Limits: []policy.Limit{l}}}}, guard.Options{})
		if e != nil {
			err = e
			return nil
		}
		closers = append(closers, func() { _ = g.Close() })
		return with(func(ctx context.Context, i int) error {
			d, err := g.Decide(ctx, guard.Request{Endpoint: "chat", Subjects: clients[i : i+1]})
			if err == nil && d.Fallback != guard.FallbackNone {
				err = context.DeadlineExceeded
			}
			return err
		})
	}
	peers := []string{rateRival, ululeRival, windowRival}
	all = []way{
		{"gcra 100/h", with(gcra(rdb, fcall.Options{})), []ratio{faster(16, 0.95, peers...), faster(64, 1, windowRival), faster(256, 1.2, windowRival), {busy, "server CPU at most %.2f of %s", []string{rateRival}, 64, 0.39, false}}},
		{"gcra 100/h, deadline 50 ms", inTime(gcra(rdb, fcall.Options{})), []ratio{sooner(0.9, rateInTime)}},
		{"gcra 100/h, no sharing", with(gcra(rdb, fcall.Options{NoSharing: true})), nil},
		{"gcra 100/h, rueidis adapter", with(gcra(adapted, fcall.Options{})), nil},
		{"guard, gcra 100/h", guarded(policy.Limit{Name: "hour", Kind: policy.GCRA, Limit: 100, Window: time.Hour}), nil},
		{"guard, global limit, prefetch", guarded(hot), []ratio{faster(64, 15, rateRival)}},
		{rateRival, with(redisRate), nil},
		{rateInTime, inTime(redisRate), nil},
		{ululeRival, with(func(ctx context.Context, i int) error {
			_, err := windowPeer.Get(ctx, string(subject(i)))
			return err
		}), nil},
		{windowRival, with(func(ctx context.Context, i int) error {
			_, err := countPeer.Allow(ctx, string(subject(i)))
			return err
		}), nil},
	}
	return all, done, err
}
