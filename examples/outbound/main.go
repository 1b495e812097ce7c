// Command outbound calls somebody else's API from twenty workers in four processes, and stays within its limits. A minute of the API lasts 6 s, so
// ten minutes of traffic take one.
//
//	go run ./examples/outbound
//
// It runs on an embedded Redis, or on that of REDIS_URL.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/examples/outbound/api"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/outbound"
	"github.com/rlfunc/rlfunc/guard/policy"
)

//go:embed limits.yaml
var limits []byte

const processes, workers = 4, 5

func main() {
	log.SetFlags(0)
	minute := flag.Duration("minute", 6*time.Second, "how long a minute of the API lasts")
	minutes := flag.Int("minutes", 10, "how many minutes of traffic")
	url := flag.String("api", "", "where the API is; for a process of workers")
	flag.Parse()
	var err error
	if *url != "" {
		err = work(os.Stdout, *url, *minute, time.Duration(*minutes)**minute)
	} else {
		err = simulate(os.Stdout, *minute, *minutes)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// work runs the workers of one process, and writes how many requests of each were served.
func work(w io.Writer, url string, minute, total time.Duration) error {
	p, err := policy.Parse("limits.yaml", limits)
	if err != nil {
		return err
	}
	scale(&p.Upstreams[0], minute)
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		return err
	}
	options.ContextTimeoutEnabled = true
	rdb := redis.NewClient(options)
	defer rdb.Close()
	g, err := guard.New(rdb, p, guard.Options{})
	if err != nil {
		return err
	}
	defer g.Close()
	transport, err := outbound.New(g, outbound.Options{Usage: outbound.Tokens("tokens")})
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport}
	ctx, cancel := context.WithTimeout(context.Background(), total)
	defer cancel()
	served, all := make([]int, workers), sync.WaitGroup{}
	for i := range served {
		all.Go(func() {
			for ctx.Err() == nil {
				if call(ctx, client, url) == http.StatusOK {
					served[i]++
				}
			}
		})
	}
	all.Wait()
	return json.NewEncoder(w).Encode(served)
}

// scale makes a minute of the limits as long as one of the API.
func scale(u *policy.Upstream, minute time.Duration) {
	for i := range u.Limits {
		u.Limits[i].Window = u.Limits[i].Window * time.Duration(minute.Milliseconds()) / 60_000
	}
	for i := range u.Budgets {
		u.Budgets[i].Window = u.Budgets[i].Window * time.Duration(minute.Milliseconds()) / 60_000
	}
}

// call makes one call, and returns its status; 0 if it was not made.
func call(ctx context.Context, client *http.Client, url string) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/v1/chat?tokens=%d", url, 200+rand.IntN(800)), nil)
	if err != nil {
		return 0
	}
	response, err := client.Do(r)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// simulate starts the API, Redis and the processes, and reports what they have done.
func simulate(w io.Writer, minute time.Duration, minutes int) error {
	server := &api.Server{Minute: minute}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	go func() { _ = http.Serve(l, server) }() //nolint:gosec // it ends with the program
	if os.Getenv("REDIS_URL") == "" {
		engine := embedded.New(embedded.Options{})
		defer engine.Close()
		addr, err := engine.Listen("127.0.0.1:0")
		if err != nil {
			return err
		}
		os.Setenv("REDIS_URL", "redis://"+addr.String())
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var started []*exec.Cmd
	outputs := make([]bytes.Buffer, processes)
	for i := range processes {
		c := exec.Command(self, "-api", "http://"+l.Addr().String(), "-minute", minute.String(), "-minutes", fmt.Sprint(minutes))
		c.Stdout, c.Stderr = &outputs[i], os.Stderr
		if err := c.Start(); err != nil {
			return err
		}
		started = append(started, c)
	}
	var served []int
	for i, c := range started {
		var of []int
		if err := c.Wait(); err != nil {
			return err
		}
		if err := json.Unmarshal(outputs[i].Bytes(), &of); err != nil {
			return err
		}
		served = append(served, of...)
	}
	report(w, server.Stats(), served, minutes)
	return nil
}

// report prints what workers have done.
func report(w io.Writer, s api.Stats, served []int, minutes int) {
	fmt.Fprintf(w, "requests served  %d, %.1f %% of what is allowed\n", s.Served, 100*float64(s.Served)/float64(minutes*api.Requests))
	fmt.Fprintf(w, "tokens           %d, %.1f %%\n", s.Tokens, 100*float64(s.Tokens)/float64(minutes*api.Tokens))
	fmt.Fprintf(w, "answers 429      %d\n", s.Refused)
	spread := float64(len(served)*(slices.Max(served)-slices.Min(served))) / float64(max(s.Served, 1))
	fmt.Fprintf(w, "of each worker   %v, which differ by %.1f %%\n", served, 100*spread)
}
