package concurrency_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/concurrency"
)

// A semaphore: at most two jobs at a time.
func Example() {
	ctx, server := context.Background(), embedded.New(embedded.Options{})
	defer server.Close()
	jobs, err := concurrency.New(server, fcall.Options{})
	if err != nil {
		panic(err)
	}
	acquire := func(holder string) {
		r, err := jobs.Acquire(ctx, concurrency.AcquireParams{Subject: "exports", Holder: holder, Limit: 2, Lease: time.Minute})
		if err != nil {
			panic(err)
		}
		fmt.Println(holder, r.Allowed, r.InUse, r.Remaining)
	}
	acquire("job-1")
	acquire("job-2")
	acquire("job-3")
	released, err := jobs.Release(ctx, concurrency.ReleaseParams{Subject: "exports", Holder: "job-1"})
	if err != nil {
		panic(err)
	}
	fmt.Println("job-1", released.Outcome)
	acquire("job-3")
	// Output:
	// job-1 true 1 1
	// job-2 true 2 0
	// job-3 false 2 0
	// job-1 released
	// job-3 true 2 0
}

// An account accepts writes whose fence is not below the greatest that it has seen.
type account struct{ fence, balance int64 }

func (a *account) set(fence, balance int64) bool {
	if fence < a.fence {
		return false
	}
	a.fence, a.balance = fence, balance
	return true
}

// A lock: limit 1. Its resource refuses a holder whose lease has ended.
func Example_lock() {
	clock := embedded.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	ctx, server := context.Background(), embedded.New(embedded.Options{Clock: clock})
	defer server.Close()
	locks, err := concurrency.New(server, fcall.Options{})
	if err != nil {
		panic(err)
	}
	acquire := func() concurrency.AcquireResult {
		r, err := locks.Acquire(ctx, concurrency.AcquireParams{Subject: "account=7", Holder: fcall.NewToken(), Limit: 1, Lease: 10 * time.Second})
		if err != nil {
			panic(err)
		}
		return r
	}
	paused := acquire()
	fmt.Println(acquire().RetryAfter)

	clock.Advance(10 * time.Second) // the first holder is paused, and its lease ends
	next := acquire()
	fmt.Println(next.Allowed, next.Fence > paused.Fence)

	var a account
	fmt.Println(a.set(next.Fence, 90))
	fmt.Println(a.set(paused.Fence, 100))
	// Output:
	// 10s
	// true true
	// true
	// false
}
