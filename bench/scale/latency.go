package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
)

//go:embed latency.txt
var measured string

// latencies are quantiles of the time of a call, in equal steps from 0 to 1.
type latencies []time.Duration

// draw draws a latency: linear between two quantiles.
func (l latencies) draw(random *rand.Rand) time.Duration {
	at := random.Float64() * float64(len(l)-1)
	low := l[int(at)]
	return low + time.Duration((at-float64(int(at)))*float64(l[int(at)+1]-low))
}

// readLatencies reads what measure wrote.
func readLatencies(text string) (all latencies, service time.Duration, err error) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		line, isService := strings.CutPrefix(line, "service ")
		for number := range strings.FieldsSeq(line) {
			us, err := strconv.ParseFloat(number, 64)
			if err != nil {
				return nil, 0, fmt.Errorf("read latency.txt: %w", err)
			}
			if d := time.Duration(us * 1000); isService {
				service = d
			} else {
				all = append(all, d)
			}
		}
	}
	return all, service, nil
}

const (
	samples   = 50_000
	quantiles = 1000
)

// measure measures calls of guard.take on a server, and writes their latencies and the server's time for one.
func measure(ctx context.Context, w io.Writer, url string) error {
	o, err := redis.ParseURL(url)
	if err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	rdb := redis.NewClient(o)
	defer rdb.Close()
	client, err := guard.New(rdb, fcall.Options{NoSharing: true})
	if err != nil {
		return err
	}
	take := guard.TakeParams{Subject: "scale", Most: 10, Limits: guard.MustPackLimit(guard.Limit{Name: "all", Kind: guard.LimitKindFixedWindow, Limit: 1_000_000, Window: time.Second})}
	var all latencies
	for range samples {
		began := time.Now()
		if _, err := client.Take(ctx, take); err != nil {
			return fmt.Errorf("measure: %w", err)
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	before, err := cpuTime(ctx, rdb)
	if err != nil {
		return err
	}
	const callers = 64
	failed := make(chan error, callers)
	for range callers {
		go func() {
			var err error
			for i := 0; i < samples/callers && err == nil; i++ {
				_, err = client.Take(ctx, take)
			}
			failed <- err
		}()
	}
	for range callers {
		if err := <-failed; err != nil {
			return fmt.Errorf("measure: %w", err)
		}
	}
	after, err := cpuTime(ctx, rdb)
	if err != nil {
		return err
	}
	version := rdb.InfoMap(ctx, "server").Val()["Server"]["redis_version"]
	fmt.Fprintf(w, "# Microseconds of a call of guard.take (fixed_window) to redis-server %s over loopback: %d calls by one caller, with\n", version, samples)
	fmt.Fprintf(w, "# go -C bench run ./scale -measure URL. %d quantiles in equal steps, from the least to the greatest. service is the CPU time of\n", quantiles+1)
	fmt.Fprintf(w, "# the server's main thread for a call of %d callers at once, by INFO cpu.\nservice %.1f\n", callers, (after-before)*1e6/samples)
	for i := range quantiles + 1 {
		end := " "
		if i%20 == 19 || i == quantiles {
			end = "\n"
		}
		fmt.Fprintf(w, "%.1f%s", float64(all[i*(samples-1)/quantiles].Nanoseconds())/1000, end)
	}
	return nil
}

// cpuTime returns the CPU seconds that the server's main thread has used.
func cpuTime(ctx context.Context, rdb *redis.Client) (seconds float64, err error) {
	info, err := rdb.InfoMap(ctx, "cpu").Result()
	if err != nil {
		return 0, fmt.Errorf("measure: %w", err)
	}
	for _, name := range []string{"used_cpu_user_main_thread", "used_cpu_sys_main_thread"} {
		part, err := strconv.ParseFloat(info["CPU"][name], 64)
		if err != nil {
			return 0, fmt.Errorf("measure: %s: %w", name, err)
		}
		seconds += part
	}
	return seconds, nil
}
