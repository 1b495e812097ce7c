package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/dyncall"
)

// functionTime is what function calls have taken on all primaries since they started.
type functionTime struct {
	calls   int64
	seconds float64
}

var functionStats = regexp.MustCompile(`(?m)^cmdstat_fcall(?:_ro)?:calls=(\d+),usec=(\d+)`)

// functionTime is false where a server does not tell, as to a user who may not use INFO.
func (c *connection) functionTime(ctx context.Context) (functionTime, bool) {
	var sum functionTime
	var mu sync.Mutex
	err := c.eachPrimary(ctx, func(ctx context.Context, primary *redis.Client) error {
		info, err := primary.Info(ctx, "commandstats").Result()
		mu.Lock()
		defer mu.Unlock()
		for _, m := range functionStats.FindAllStringSubmatch(info, -1) {
			calls, _ := strconv.ParseInt(m[1], 10, 64)
			us, _ := strconv.ParseInt(m[2], 10, 64)
			sum.calls += calls
			sum.seconds += float64(us) / 1e6
		}
		return err
	})
	return sum, err == nil
}

func (c *connection) eachPrimary(ctx context.Context, do func(context.Context, *redis.Client) error) error {
	switch client := c.client.(type) {
	case *redis.ClusterClient:
		return client.ForEachMaster(ctx, do)
	case *redis.Client:
		return do(ctx, client)
	}
	return nil
}

var versions = regexp.MustCompile(`(?m)^(valkey|redis)_version:(\S+)`)

// describe names the server, with its version where a primary tells.
func (c *connection) describe(ctx context.Context) string {
	name := c.name
	_ = c.eachPrimary(ctx, func(ctx context.Context, primary *redis.Client) error {
		info, err := primary.Info(ctx, "server").Result()
		for _, m := range versions.FindAllStringSubmatch(info, -1) {
			if c.embedded == nil && (m[1] == "valkey" || !strings.Contains(info, "valkey_version:")) {
				name = fmt.Sprintf("%s %s at %s", strings.ToUpper(m[1][:1])+m[1][1:], m[2], c.name)
			}
		}
		return err
	})
	return name
}

// benchKeys are the keys that a measurement leaves.
type benchKeys struct {
	conn      *connection
	call      *dyncall.Call
	namespace string
	subjects  int
}

// remove deletes them, also when the measurement was interrupted. Those that it does not reach expire.
func (k benchKeys) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for from := 1; from <= k.subjects; from += 1000 {
		_, _ = k.conn.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := from; i < min(from+1000, k.subjects+1); i++ {
				pipe.Unlink(ctx, k.call.Of(i).Keys(k.namespace)...)
			}
			return nil
		})
	}
}

// bytes is what the keys of a subject take in the middle, by some of them.
func (k benchKeys) bytes(ctx context.Context) *float64 {
	var sums []float64
	for i := 1; i <= min(k.subjects, 200); i++ {
		sum := int64(0)
		for _, key := range k.call.Of(i).Keys(k.namespace) {
			n, err := k.conn.client.MemoryUsage(ctx, key, 0).Result()
			if err != nil && err != redis.Nil {
				return nil
			}
			sum += n
		}
		if sum > 0 {
			sums = append(sums, float64(sum))
		}
	}
	if len(sums) == 0 {
		return nil
	}
	slices.Sort(sums)
	return &sums[len(sums)/2]
}
