// Command outbound makes the calls of examples/outbound as they are often made without rlfunc: each process asks redis_rate for a turn, sleeps when it
// is refused, and sleeps again after a 429.
//
//	go -C bench run ./outbound
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-redis/redis_rate/v10"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/examples/outbound/api"
)

const processes, workers = 4, 5

func main() {
	log.SetFlags(0)
	minute := flag.Duration("minute", 6*time.Second, "how long a minute of the API lasts")
	minutes := flag.Int("minutes", 10, "how many minutes of traffic")
	flag.Parse()
	if err := simulate(os.Stdout, *minute, *minutes); err != nil {
		log.Fatal(err)
	}
}

// simulate runs the workers of all processes, each with a client of its own, and reports what they have done.
func simulate(w io.Writer, minute time.Duration, minutes int) error {
	server := &api.Server{Minute: minute}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	go func() { _ = http.Serve(l, server) }() //nolint:gosec // it ends with the program
	engine := embedded.New(embedded.Options{})
	defer engine.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(minutes)*minute)
	defer cancel()
	served, all := make([]int, processes*workers), sync.WaitGroup{}
	for i := range processes {
		rdb := engine.Client()
		defer rdb.Close()
		limiter := redis_rate.NewLimiter(rdb)
		for j := range workers {
			all.Go(func() {
				served[i*workers+j] = work(ctx, limiter, "http://"+l.Addr().String(), minute)
			})
		}
	}
	all.Wait()
	s := server.Stats()
	fmt.Fprintf(w, "requests served  %d, %.1f %% of what is allowed\n", s.Served, 100*float64(s.Served)/float64(minutes*api.Requests))
	fmt.Fprintf(w, "tokens           %d, %.1f %%\n", s.Tokens, 100*float64(s.Tokens)/float64(minutes*api.Tokens))
	fmt.Fprintf(w, "answers 429      %d\n", s.Refused)
	spread := float64(len(served)*(slices.Max(served)-slices.Min(served))) / float64(max(s.Served, 1))
	fmt.Fprintf(w, "of each worker   %v, which differ by %.1f %%\n", served, 100*spread)
	return nil
}

// work makes calls until ctx ends, and returns how many were served.
func work(ctx context.Context, limiter *redis_rate.Limiter, url string, minute time.Duration) (served int) {
	for ctx.Err() == nil {
		turn, err := limiter.Allow(ctx, "llm", redis_rate.Limit{Rate: api.Requests, Burst: api.Requests, Period: minute})
		if err != nil || turn.Allowed == 0 {
			if err == nil {
				sleep(ctx, turn.RetryAfter)
			}
			continue
		}
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/v1/chat?tokens=%d", url, 200+rand.IntN(800)), nil)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			continue
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			served++
			continue
		}
		wait, _ := strconv.Atoi(response.Header.Get("Retry-After-Ms"))
		sleep(ctx, time.Duration(wait)*time.Millisecond)
	}
	return served
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
