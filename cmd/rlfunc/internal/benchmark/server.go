// Package benchmark measures what a function costs on a server.
package benchmark

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/dyncall"
	"github.com/rlfunc/rlfunc/internal/serverinfo"
)

// functionTime is the total of function calls on all primaries since they started.
type functionTime struct {
	calls   int64
	seconds float64
}

var functionStats = regexp.MustCompile(`(?m)^cmdstat_fcall(?:_ro)?:calls=(\d+),usec=(\d+)`)

// readFunctionTime reports false if a server does not report the time, for example because the user may not run INFO.
func readFunctionTime(ctx context.Context, conn *connection.Conn) (functionTime, bool) {
	var sum functionTime
	var mu sync.Mutex
	err := conn.EachPrimary(ctx, func(ctx context.Context, primary *redis.Client) error {
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

// serverName names the server, with its version if a primary reports one.
func serverName(ctx context.Context, conn *connection.Conn) string {
	name := conn.Name
	_ = conn.EachPrimary(ctx, func(ctx context.Context, primary *redis.Client) error {
		info, err := primary.Info(ctx, "server").Result()
		if server := serverinfo.Identify(info); err == nil && !conn.Embedded() {
			name = fmt.Sprintf("%s at %s", server, conn.Name)
		}
		return err
	})
	return name
}

// keys are the keys that a measurement writes.
type keys struct {
	conn      *connection.Conn
	call      *dyncall.Call
	namespace string
	subjects  int
}

// remove deletes the keys, also after an interruption. Keys that it does not reach expire.
func (k keys) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for from := 1; from <= k.subjects; from += 1000 {
		_, err := k.conn.Client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := from; i < min(from+1000, k.subjects+1); i++ {
				pipe.Unlink(ctx, k.call.Of(i).Keys(k.namespace)...)
			}
			return nil
		})
		if err != nil {
			return // a server that does not answer would take the whole time
		}
	}
}

// bytes returns the median memory of a subject's keys over at most 200 subjects, or nil if the server does not report it.
func (k keys) bytes(ctx context.Context) *float64 {
	var sums []float64
	for i := 1; i <= min(k.subjects, 200); i++ {
		sum := int64(0)
		for _, key := range k.call.Of(i).Keys(k.namespace) {
			n, err := k.conn.Client.MemoryUsage(ctx, key, 0).Result()
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
