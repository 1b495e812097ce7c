package examples

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/concurrency"
)

// The Go of docs/concurrency-and-locks.md#locks is code of this file.
func TestLocks_pageMatchesExamples(t *testing.T) {
	text := read(t, "locks_test.go")
	for _, block := range blocks(t, "../docs/concurrency-and-locks.md#locks", "go") {
		if !strings.Contains(text, "\n"+block) && !strings.Contains(strings.ReplaceAll(text, "\n\t\t", "\n"), "\n"+block) {
			t.Errorf("examples/locks_test.go lacks this Go of docs/concurrency-and-locks.md#locks:\n%s", block)
		}
	}
}

type report struct {
	fence int64 // the greatest that wrote
	text  string
}

func (r *report) write(fence int64, text string) error {
	if fence < r.fence {
		return fmt.Errorf("write with fence %d: a holder with fence %d wrote before", fence, r.fence)
	}
	r.fence, r.text = fence, text
	return nil
}

// keep renews a lock until ctx ends. It calls lost when the lease has ended, or may end before the next attempt.
func keep(ctx context.Context, locks *concurrency.Client, lock concurrency.RenewParams, ends time.Time, lost func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lock.Lease / 3):
		}
		began := time.Now() // the lease begins later, on the server
		r, err := locks.Renew(ctx, lock)
		switch {
		case err == nil && r.Outcome == concurrency.RenewOutcomeRenewed:
			ends = began.Add(lock.Lease)
		case err == nil, time.Until(ends) < lock.Lease/3:
			lost()
			return
		}
	}
}

func Example_lock() {
	run(concurrency.Library, concurrency.New, func(ctx context.Context, locks *concurrency.Client) error {
		holder := fcall.NewToken() // one for each acquisition
		lock, err := locks.Acquire(ctx, concurrency.AcquireParams{
			Subject: "report=7", Holder: holder, Limit: 1, Lease: 30 * time.Second,
		})
		if err != nil || !lock.Allowed {
			return err // lock.RetryAfter is what the other holder's lease has left
		}

		// An operator ends the lease of a holder that does not answer, and another acquires the lock.
		if _, err := locks.Evict(ctx, concurrency.EvictParams{Subject: "report=7", Holder: holder}); err != nil {
			return err
		}
		next, err := locks.Acquire(ctx, concurrency.AcquireParams{Subject: "report=7", Holder: fcall.NewToken(), Limit: 1, Lease: 30 * time.Second})
		if err != nil {
			return err
		}

		var resource report
		fmt.Println(resource.write(next.Fence, "new"))
		fmt.Println(resource.write(lock.Fence, "stale") != nil, resource.text)

		released, err := locks.Release(ctx, concurrency.ReleaseParams{Subject: "report=7", Holder: holder, Fence: lock.Fence})
		if err != nil {
			return err
		}
		fmt.Println(released.Outcome)
		return nil
	})
	// Output:
	// <nil>
	// true new
	// not_held
}

func TestKeep_endsTheWorkOfALostLock(t *testing.T) {
	server := embedded.New(embedded.Options{Clock: embedded.NewManualClock(time.Unix(1_800_000_000, 0))}) // no lease ends by itself
	defer server.Close()
	locks, err := concurrency.New(server, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const lease = 30 * time.Millisecond
	lock, err := locks.Acquire(t.Context(), concurrency.AcquireParams{Subject: "report=7", Holder: "a", Limit: 1, Lease: lease})
	if err != nil || !lock.Allowed {
		t.Fatal(lock, err)
	}
	ctx, lost := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		keep(ctx, locks, concurrency.RenewParams{Subject: "report=7", Holder: "a", Lease: lease, Fence: lock.Fence}, time.Now().Add(lease), lost)
	}()
	if _, err := locks.Evict(t.Context(), concurrency.EvictParams{Subject: "report=7", Holder: "a"}); err != nil {
		t.Fatal(err)
	}
	<-done
	if ctx.Err() == nil {
		t.Error("the work goes on without the lock")
	}
}
