package examples

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/concurrency"
)

// The Go of docs/concurrency-and-locks.md is code of this file.
func TestConcurrency_pageMatchesExamples(t *testing.T) {
	text := read(t, "concurrency_test.go")
	for _, block := range blocks(t, "../docs/concurrency-and-locks.md", "go") {
		if !strings.Contains(text, "\n"+block) && !strings.Contains(strings.ReplaceAll(text, "\n\t\t", "\n"), "\n"+block) {
			t.Errorf("examples/concurrency_test.go lacks this Go of docs/concurrency-and-locks.md:\n%s", block)
		}
	}
}

// logIn gives a session one of the account's three places. If all are taken, it returns the sessions that have them.
func logIn(ctx context.Context, places *concurrency.Client, account fcall.Subject, session string) (in bool, others []concurrency.PeekHoldersResult, err error) {
	r, err := places.Acquire(ctx, concurrency.AcquireParams{Subject: account, Holder: session, Limit: 3, Lease: 30 * time.Minute})
	if err != nil || r.Allowed {
		return r.Allowed, nil, err
	}
	p, err := places.Peek(ctx, concurrency.PeekParams{Subject: account})
	return false, p.Holders, err // none if they have all ended meanwhile
}

// active extends a session. Call it at each request; false means that the session has ended.
func active(ctx context.Context, places *concurrency.Client, account fcall.Subject, session string) (bool, error) {
	r, err := places.Renew(ctx, concurrency.RenewParams{Subject: account, Holder: session, Lease: 30 * time.Minute})
	return r.Outcome == concurrency.RenewOutcomeRenewed, err
}

// logOut ends a session, of this device or of another one.
func logOut(ctx context.Context, places *concurrency.Client, account fcall.Subject, session string) error {
	_, err := places.Release(ctx, concurrency.ReleaseParams{Subject: account, Holder: session})
	return err
}

func Example_logIn() {
	run(concurrency.Library, concurrency.New, func(ctx context.Context, places *concurrency.Client) error {
		for _, session := range []string{"laptop", "phone", "tablet", "television"} {
			_, others, err := logIn(ctx, places, "account=7", session)
			if err != nil {
				return err
			}
			for _, s := range others {
				fmt.Println(session, "is refused while there is", s.Holder)
			}
		}
		if err := logOut(ctx, places, "account=7", "phone"); err != nil {
			return err
		}
		in, _, err := logIn(ctx, places, "account=7", "television")
		if err != nil {
			return err
		}
		phone, err := active(ctx, places, "account=7", "phone")
		fmt.Println(in, phone)
		return err
	})
	// Output:
	// television is refused while there is laptop
	// television is refused while there is phone
	// television is refused while there is tablet
	// true false
}

// runJob runs a job if fewer than four of the tenant's are running. Otherwise it returns when to try again.
func runJob(ctx context.Context, places *concurrency.Client, tenant fcall.Subject, job func(context.Context) error) (again time.Duration, err error) {
	place := concurrency.RenewParams{Subject: tenant, Holder: fcall.NewToken(), Lease: 30 * time.Second}
	began := time.Now()
	r, err := places.Acquire(ctx, concurrency.AcquireParams{Subject: place.Subject, Holder: place.Holder, Limit: 4, Lease: place.Lease})
	if err != nil || !r.Allowed {
		return r.RetryAfter, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go keep(ctx, places, place, began.Add(place.Lease), stop) // stops the job if its place is lost
	err = job(ctx)
	_, released := places.Release(context.WithoutCancel(ctx), concurrency.ReleaseParams{Subject: place.Subject, Holder: place.Holder})
	return 0, errors.Join(err, released)
}

// keep renews a place until ctx ends. It calls lost when the lease has ended, or could end before the next attempt.
func keep(ctx context.Context, places *concurrency.Client, place concurrency.RenewParams, ends time.Time, lost func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(place.Lease / 3):
		}
		began := time.Now() // the lease begins later, on the server
		r, err := places.Renew(ctx, place)
		switch {
		case err == nil && r.Outcome == concurrency.RenewOutcomeRenewed:
			ends = began.Add(place.Lease)
		case err == nil, time.Until(ends) < place.Lease/3:
			lost()
			return
		}
	}
}

func Example_runJob() {
	run(concurrency.Library, concurrency.New, func(ctx context.Context, places *concurrency.Client) error {
		var nested func(depth int) error
		nested = func(depth int) error { // each job starts the next one, and waits for it
			again, err := runJob(ctx, places, "tenant=7", func(context.Context) error { return nested(depth + 1) })
			if again > 0 {
				fmt.Println("job", depth, "waits, at most", again)
			}
			return err
		}
		return nested(1)
	})
	// Output:
	// job 5 waits, at most 30s
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
	if _, err := locks.Release(t.Context(), concurrency.ReleaseParams{Subject: "report=7", Holder: "a"}); err != nil {
		t.Fatal(err)
	}
	<-done
	if ctx.Err() == nil {
		t.Error("the work goes on without the lock")
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

func Example_lock() {
	run(concurrency.Library, concurrency.New, func(ctx context.Context, locks *concurrency.Client) error {
		holder := fcall.NewToken() // one for each acquisition
		lock, err := locks.Acquire(ctx, concurrency.AcquireParams{
			Subject: "report=7", Holder: holder, Limit: 1, Lease: 30 * time.Second,
		})
		if err != nil || !lock.Allowed {
			return err // if it is refused, lock.RetryAfter is what the other lease has left
		}

		// An operator ends the lease of a holder that does not answer, and another acquires the lock.
		if _, err := locks.Release(ctx, concurrency.ReleaseParams{Subject: "report=7", Holder: holder}); err != nil {
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
