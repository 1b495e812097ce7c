package guard_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

const (
	crashEnv   = "RLFUNC_TEST_PLACE" // the URL of the server
	crashLease = 2 * time.Second
)

func crashPolicy() *policy.Policy {
	p := chat(policy.Limit{Name: "streams", Kind: policy.Concurrency, Limit: 1, Lease: crashLease, OnFailure: policy.Closed})
	p.Timeout = 10 * time.Second
	return p
}

// The place of a process that is killed while it keeps it is free when its lease ends, and not before.
func TestKeep_killedProcess(t *testing.T) {
	for _, e := range engines.Ends(t) {
		if e.Clock != nil {
			continue // a process has the real time
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			rdb := e.Client(t)
			g := newGuard(t, rdb, crashPolicy(), guard.Options{})
			process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKeep_process$")
			process.Env, process.Stderr = append(os.Environ(), crashEnv+"="+e.URL), os.Stderr
			out, err := process.StdoutPipe()
			if err == nil {
				_, err = process.StdinPipe() // open until the process ends
			}
			if err == nil {
				err = process.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "kept"; {
			}
			if d := decide(t, g, ada); d.Allowed {
				t.Error("allowed while the process runs")
			}
			if err := process.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = process.Wait() // it was killed
			for end := time.Now().Add(20 * time.Second); ; {
				before := time.Now()
				d := decide(t, g, ada)
				if d.Allowed {
					d.Charge.End(t.Context(), guard.End{})
					return
				}
				if wait := d.Limits[0].RetryAfter; wait <= 0 || wait > crashLease {
					t.Errorf("the lease ends in %v", wait)
				}
				if before.After(end) {
					t.Fatal("the place is not free")
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
}

// The process that TestKeep_killedProcess kills: it keeps a place for two leases first.
func TestKeep_process(t *testing.T) {
	url := os.Getenv(crashEnv)
	if url == "" {
		return
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	g := newGuard(t, redis.NewClient(options), crashPolicy(), guard.Options{})
	d := decide(t, g, ada)
	if !d.Allowed {
		t.Fatalf("%+v", d)
	}
	lost := d.Charge.Keep()
	select {
	case <-lost:
		t.Fatal("lost")
	case <-time.After(2 * crashLease):
	}
	fmt.Println("kept")
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or its parent is
}
