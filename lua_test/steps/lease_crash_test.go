package steps_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/concurrency"
	"github.com/rlfunc/rlfunc/internal/engines"
)

const (
	holderEnv    = "RLFUNC_TEST_HOLDER" // the URL of the server
	crashedLease = 1500 * time.Millisecond
)

// A process that is killed keeps its place until its lease ends, by the server's clock, and no longer.
func TestAcquire_placeOfAKilledProcessIsFreeAtTheEndOfItsLease(t *testing.T) {
	for _, e := range engines.All(t) {
		t.Run(e.Name, func(t *testing.T) {
			rdb := e.Client(t)
			if err := rdb.FunctionLoad(t.Context(), concurrency.Library.Code).Err(); err != nil {
				t.Fatal(err)
			}
			locks, err := concurrency.New(rdb, fcall.Options{})
			if err != nil {
				t.Fatal(err)
			}
			// A first fence is the server's time of the acquisition.
			ends := time.UnixMicro(killHolder(t, e.URL)).Add(crashedLease)
			for refused := 0; ; refused++ {
				before := serverTime(t, rdb)
				r, err := locks.Acquire(t.Context(), acquireParams{Subject: "job", Holder: "next", Limit: 1, Lease: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				after := serverTime(t, rdb)
				if r.Allowed {
					if at := time.UnixMicro(r.Fence); at.Before(ends) || at.Before(before) || at.After(after) {
						t.Errorf("acquired at %v, between %v and %v; the lease ends at %v", at, before, after, ends)
					}
					if refused == 0 && e.Clock != nil { // on a busy machine a real server's clock may be past the lease
						t.Error("no call was refused")
					}
					t.Logf("%d calls were refused", refused)
					return
				}
				if !before.Before(ends) {
					t.Fatalf("refused after %v; the lease ended at %v", before, ends)
				}
				if ends.Before(before.Add(r.RetryAfter)) || ends.After(after.Add(r.RetryAfter)) {
					t.Errorf("retry_after is %v between %v and %v; the lease ends at %v", r.RetryAfter, before, after, ends)
				}
				if e.Clock == nil {
					time.Sleep(time.Millisecond)
				} else {
					e.Clock.Advance(r.RetryAfter - r.RetryAfter/2) // at the end 1 µs early, then at the end
				}
			}
		})
	}
}

// killHolder has another process acquire the place and kills it. It returns the fence.
func killHolder(t *testing.T, url string) (fence int64) {
	t.Helper()
	process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHolder_process$")
	process.Env = append(os.Environ(), holderEnv+"="+url)
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := process.StdinPipe(); err != nil { // open until the process ends
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(out); fence == 0 && lines.Scan(); {
		said = append(said, lines.Text())
		_, _ = fmt.Sscanf(lines.Text(), "acquired %d", &fence)
	}
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = process.Wait() // it was killed
	if fence == 0 {
		t.Fatalf("the holder did not acquire:\n%s", strings.Join(said, "\n"))
	}
	return fence
}

// The process that TestAcquire_placeOfAKilledProcessIsFreeAtTheEndOfItsLease kills.
func TestHolder_process(t *testing.T) {
	url := os.Getenv(holderEnv)
	if url == "" {
		return
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	locks, err := concurrency.New(redis.NewClient(options), fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := locks.Acquire(context.Background(), acquireParams{Subject: "job", Holder: "killed", Limit: 1, Lease: crashedLease})
	if err != nil || !r.Allowed {
		t.Fatal(r, err)
	}
	fmt.Println("acquired", r.Fence)
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or its parent is
}

func serverTime(t *testing.T, rdb *redis.Client) time.Time {
	t.Helper()
	now, err := rdb.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return now
}
