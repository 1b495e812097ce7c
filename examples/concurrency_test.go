package examples

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/concurrency"
)

// The Go of docs/concurrency-and-locks.md is code of this file.
func TestConcurrency_pageMatchesExamples(t *testing.T) {
	text := read(t, "concurrency_test.go")
	for _, block := range blocks(t, "../docs/concurrency-and-locks.md", "go") {
		if !strings.Contains(text, "\n"+block) {
			t.Errorf("examples/concurrency_test.go lacks this Go of docs/concurrency-and-locks.md:\n%s", block)
		}
	}
}

// logIn gives a session one of the account's three places. If there is none, it returns the account's sessions.
func logIn(ctx context.Context, places *concurrency.Client, account fcall.Subject, session string) (full []concurrency.PeekHoldersResult, err error) {
	r, err := places.Acquire(ctx, concurrency.AcquireParams{Subject: account, Holder: session, Limit: 3, Lease: 30 * time.Minute})
	if err != nil || r.Allowed {
		return nil, err
	}
	p, err := places.Peek(ctx, concurrency.PeekParams{Subject: account})
	return p.Holders, err
}

// active extends a session at each of its requests. It reports false if the session has ended.
func active(ctx context.Context, places *concurrency.Client, account fcall.Subject, session string) (bool, error) {
	r, err := places.Renew(ctx, concurrency.RenewParams{Subject: account, Holder: session, Lease: 30 * time.Minute})
	return r.Outcome == concurrency.RenewOutcomeRenewed, err
}

// logOut ends a session, of this device or of another.
func logOut(ctx context.Context, places *concurrency.Client, account fcall.Subject, session string) error {
	_, err := places.Release(ctx, concurrency.ReleaseParams{Subject: account, Holder: session})
	return err
}

func Example_logIn() {
	run(concurrency.Library, concurrency.New, func(ctx context.Context, places *concurrency.Client) error {
		for _, session := range []string{"laptop", "phone", "tablet", "television"} {
			full, err := logIn(ctx, places, "account=7", session)
			if err != nil {
				return err
			}
			for _, s := range full {
				fmt.Println(session, "is refused while there is", s.Holder)
			}
		}
		if err := logOut(ctx, places, "account=7", "phone"); err != nil {
			return err
		}
		full, err := logIn(ctx, places, "account=7", "television")
		if err != nil {
			return err
		}
		phone, err := active(ctx, places, "account=7", "phone")
		fmt.Println(len(full), phone)
		return err
	})
	// Output:
	// television is refused while there is laptop
	// television is refused while there is phone
	// television is refused while there is tablet
	// 0 false
}

// runJob runs a tenant's job if fewer than four of it run. Otherwise it returns when to try again.
func runJob(ctx context.Context, places *concurrency.Client, tenant fcall.Subject, job func(context.Context) error) (again time.Duration, err error) {
	place := concurrency.RenewParams{Subject: tenant, Holder: fcall.NewToken(), Lease: 30 * time.Second}
	began := time.Now()
	r, err := places.Acquire(ctx, concurrency.AcquireParams{Subject: place.Subject, Holder: place.Holder, Limit: 4, Lease: place.Lease})
	if err != nil || !r.Allowed {
		return r.RetryAfter, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go keep(ctx, places, place, began.Add(place.Lease), stop) // of docs/concurrency-and-locks.md#locks: stops the job if its place is lost
	err = job(ctx)
	_, released := places.Release(context.WithoutCancel(ctx), concurrency.ReleaseParams{Subject: place.Subject, Holder: place.Holder})
	return 0, errors.Join(err, released)
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
