package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/prefetch"
)

// A real cluster of three gets as many calls as the simulation says, and admits as much. Requests come one after the other, so that
// neither depends on the machine's speed.
func TestSimulate_asARealCluster(t *testing.T) {
	cluster := engines.OnPath(t).StartCluster(t, 3, 0)
	for _, m := range cluster.Primaries {
		if err := m.Client(t).FunctionLoad(t.Context(), ratelimit.Library.Code).Err(); err != nil {
			t.Fatal(err)
		}
	}
	rdb := cluster.Client(t)
	limits, err := ratelimit.New(rdb, fcall.Options{NoSharing: true})
	if err != nil {
		t.Fatal(err)
	}
	shards := map[string]int{} // by address, that of the global limit first
	shardOf := func(bucket string) int {
		node, err := rdb.MasterForKey(t.Context(), fcall.Tag(fcall.Subject(bucket)))
		if err != nil {
			t.Fatal(err)
		}
		addr := node.Options().Addr
		if _, ok := shards[addr]; !ok {
			shards[addr] = len(shards)
		}
		return shards[addr]
	}
	shardOf("all")
	s := scene{
		processes: 6, shards: 3, limit: 2000, window: time.Hour, subjects: 500, timeout: time.Second, every: time.Millisecond,
		lasts: 3 * time.Second, seed: 1, latency: func(*rand.Rand) time.Duration { return 100 * time.Microsecond },
		service: 10 * time.Microsecond, shardOf: func(subject uint64) int { return shardOf(bucketOf(subject)) },
	}
	for _, s := range []scene{s, prefetched(s, 100, 10*time.Second)} {
		want := outcome{s, simulate(s)}
		for _, m := range cluster.Primaries {
			if err := m.Client(t).Do(t.Context(), "config", "resetstat").Err(); err != nil {
				t.Fatal(err)
			}
			if err := m.Client(t).FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		admitted, err := play(t.Context(), s, limits)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]int64, s.shards)
		for _, m := range cluster.Primaries {
			got[shards[m.Addr]] = calls(t, m.Client(t))
		}
		t.Logf("prefetch %s: %v calls, %d of %d admitted; simulated %v, %d", want.prefetch(), got, admitted, s.limit, want.calls, want.admitted)
		if admitted != want.admitted {
			t.Errorf("%s: %d were admitted, %d in the simulation", want.prefetch(), admitted, want.admitted)
		}
		for i := range got {
			if d := got[i] - want.calls[i]; s.most == 0 && d != 0 || max(d, -d) > 10 {
				t.Errorf("%s: shard %d got %d calls, %d in the simulation", want.prefetch(), i, got[i], want.calls[i])
			}
		}
	}
}

func bucketOf(subject uint64) string { return "user=" + strconv.FormatUint(subject, 10) }

// play makes the requests of a scene one after the other, as package guard does on a cluster.
func play(ctx context.Context, s scene, limits *ratelimit.Client) (admitted int64, err error) {
	global := ratelimit.FixedWindowParams{Subject: "all", Limit: s.limit, Window: s.window}
	tokens, refused := make([]*prefetch.Limiter, s.processes), make([]bool, s.processes)
	for i := range tokens {
		if s.most > 0 {
			if tokens[i], err = prefetch.FixedWindow(limits, global, prefetch.Options{Most: s.most, For: s.lease}); err != nil {
				return 0, err
			}
		}
	}
	draw := s.draws(rand.New(rand.NewPCG(s.seed, 1)))
	for range s.lasts / s.every {
		process, subject := draw()
		own := ratelimit.FixedWindowParams{Subject: fcall.Subject(bucketOf(subject)), Limit: 1_000_000, Window: s.window}
		if s.most > 0 {
			d, err := tokens[process].Take(ctx)
			if err != nil {
				return 0, err
			}
			if !d.Allowed {
				continue
			}
		} else if refused[process] {
			continue
		} else {
			r, err := limits.FixedWindow(ctx, global)
			if err != nil {
				return 0, err
			}
			refused[process] = !r.Allowed
		}
		if _, err := limits.FixedWindow(ctx, own); err != nil {
			return 0, err
		}
		if refused[process] {
			if _, err := limits.FixedWindowRefund(ctx, ratelimit.FixedWindowRefundParams{Subject: own.Subject, Limit: own.Limit, Window: own.Window}); err != nil {
				return 0, err
			}
			continue
		}
		admitted++
	}
	return admitted, nil
}

// calls returns how many FCALLs a server had.
func calls(t *testing.T, rdb *redis.Client) (n int64) {
	t.Helper()
	info, err := rdb.InfoMap(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	if stats := info["Commandstats"]["cmdstat_fcall"]; stats != "" {
		if _, err := fmt.Sscanf(strings.ReplaceAll(stats, ",", " "), "calls=%d", &n); err != nil {
			t.Fatal(err)
		}
	}
	return n
}
