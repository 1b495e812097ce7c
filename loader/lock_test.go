package loader_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

const (
	leaseOfOne = "rlfunc:{deploy}:lease" // of the target
	lockOfOne  = "rlfunc:{deploy}:lock"  // of the node
)

func TestLock_deployersNeverInterleave(t *testing.T) {
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		older := bundle("shop", "1.0.0", "buy")
		put(t, client, older.Code)
		lib, second := bundle("shop", "1.1.0", "buy"), bundle("other", "1.0.0", "look")
		p := plan(t, client, lib, second)
		results, errs := inParallel(func(int) (*loader.Result, error) {
			return apply(client, p, loader.ApplyOptions{Lock: patient})
		})
		changed := []int{}
		for i, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
			if n := results[i].Changed(); n > 0 {
				changed = append(changed, n)
			}
		}
		// One did all of it; the others found it done.
		equal(t, "libraries changed by each who changed any", []int{2}, changed)
		events := history(t, client)
		equal(t, "events", 1, len(events))
		equal(t, "lock", int64(0), client.Exists(t.Context(), lockOfOne).Val())
	})
}

func TestLock_errorNamesHolder(t *testing.T) {
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		lib := bundle("shop", "1.1.0", "buy")
		p := plan(t, client, lib)
		var during error
		var other *loader.Result
		slow := interrupted(t, e, func() {
			// The first deployer is in the middle: the second is refused, and so is its retire.
			other, during = apply(client, p, as("bert"))
		}, atExec...)
		_, err := apply(slow, p, as("anna, run 812"))
		if err != nil {
			t.Fatal(err)
		}
		says(t, during, loader.ErrLocked, "deploy: anna, run 812 has held the lock since 20", "for a deploy; it expires at 20", "nothing was changed")
		equal(t, "result", (*loader.Result)(nil), other)
		lock := asError(t, during).Lock
		if lock == nil || lock.By != "anna, run 812" || lock.Op != loader.OpDeploy || !lock.Expires.After(lock.Since) {
			t.Errorf("the lock is %+v", lock)
		}
		// It was given back.
		if _, err := apply(client, plan(t, client, bundle("other", "1.0.0", "look")), as("bert")); err != nil {
			t.Error(err)
		}
	})
}

func TestLock_waitReportsOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		hold(t, client, "anna", time.Hour)
		var reported []string
		p := plan(t, client, bundle("shop", "1.0.0", "buy"))
		waiting := loader.LockOptions{Wait: time.Minute, OnWait: func(e *loader.Error) {
			reported = append(reported, e.Lock.By)
			client.Del(t.Context(), lockOfOne)
		}}
		if _, err := apply(client, p, loader.ApplyOptions{Lock: waiting}); err != nil {
			t.Fatal(err)
		}
		equal(t, "reported", []string{"anna"}, reported)
		// Waiting ends with the context as well.
		hold(t, client, "anna", time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		waiting.OnWait = func(*loader.Error) { cancel() }
		p = plan(t, client, bundle("other", "1.0.0", "look"))
		_, err := loader.NewTarget(client).Apply(ctx, p, loader.ApplyOptions{Lock: waiting})
		says(t, err, loader.ErrLocked, "anna")
		equal(t, "the other's lock", int64(1), client.Exists(t.Context(), lockOfOne).Val())
	})
}

func TestLock_foreignKeyErrorSaysWhatToDo(t *testing.T) {
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		p := plan(t, client, bundle("shop", "1.0.0", "buy"))
		client.Set(t.Context(), lockOfOne, "mine", 0)
		_, err := apply(client, p, loader.ApplyOptions{})
		says(t, err, loader.ErrLocked, "something that is not rlfunc has the lock's key, and it never expires", "if no deploy runs: DEL rlfunc:{deploy}:lock")
		client.Del(t.Context(), lockOfOne)
		client.RPush(t.Context(), lockOfOne, "mine")
		_, err = apply(client, p, loader.ApplyOptions{})
		says(t, err, loader.ErrRejected, "rlfunc did not write")
	})
}

func TestLock_isRenewedDuringDeploy(t *testing.T) {
	const life = 3 * time.Second // a busy machine has paused a test for a second
	loader.SetLockTimes(t, life, life/10)
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		if e.Clock != nil {
			t.Skip("SKIPPED: the engine's clock stands still")
		}
		lib := bundle("shop", "1.0.0", "buy")
		slow := interrupted(t, e, func() {
			// More than two lives of the lock pass. Time is what is tested here.
			for end := time.Now().Add(life * 11 / 5); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				if left := client.PTTL(t.Context(), lockOfOne).Val(); left <= 0 {
					t.Errorf("the lock has %s to live", left)
				}
			}
		}, atQueue...)
		r, err := apply(slow, plan(t, client, lib), loader.ApplyOptions{})
		equal(t, "error and outcome", []any{nil, []string{"shop_v1 loaded"}}, []any{err, outcomes(r)})
	})
}

// A renewal touches the key that a load watches. A load that takes longer than the time between two renewals succeeds all the same.
func TestLock_renewalDoesNotStopSlowLoad(t *testing.T) {
	const renew = 500 * time.Millisecond
	loader.SetLockTimes(t, 20*renew, renew)
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		lib := bundle("shop", "1.0.0", "buy")
		slow := e.Connect(t, nil)
		hook := &between{words: atQueue}
		hook.run = func() {
			time.Sleep(renew * 6 / 5) // time is what is tested here
			hook.ran.Store(false)
		}
		slow.AddHook(hook)
		r, err := apply(slow, plan(t, client, lib), loader.ApplyOptions{})
		equal(t, "error and outcome", []any{nil, []string{"shop_v1 loaded"}}, []any{err, outcomes(r)})
	})
}

func TestLock_planWithoutChangesTakesNone(t *testing.T) {
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		lib := bundle("shop", "1.0.0", "buy")
		put(t, client, lib.Code)
		hold(t, client, "anna", time.Hour)
		r, err := apply(client, plan(t, client, lib), loader.ApplyOptions{})
		equal(t, "error and outcome", []any{nil, []string{"shop_v1 same"}}, []any{err, outcomes(r)})
		equal(t, "events", 0, len(history(t, client)))
	})
}

// hold takes the lock for another deployer.
func hold(t *testing.T, client *redis.Client, by string, ttl time.Duration) {
	t.Helper()
	text := `{"by":"` + by + `","op":"deploy","since":"2026-11-21T02:50:00Z","id":"other"}`
	if err := client.Set(t.Context(), lockOfOne, text, ttl).Err(); err != nil {
		t.Fatal(err)
	}
}

func history(t *testing.T, client redis.UniversalClient) []loader.Event {
	t.Helper()
	events, err := loader.NewTarget(client).History(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// story returns a history as lines, the oldest first: operation, deployer, outcome, and each change.
func story(t *testing.T, client redis.UniversalClient) []string {
	t.Helper()
	var lines []string
	for _, e := range history(t, client) {
		var changes []string
		for _, c := range e.Changes {
			changes = append(changes, strings.TrimSpace(c.Library+" "+c.From+">"+c.To+" "+string(c.Outcome)))
		}
		lines = append([]string{string(e.Op) + " by " + e.By + " " + string(e.Outcome) + ": " + strings.Join(changes, ", ")}, lines...)
	}
	return lines
}

func asError(t *testing.T, err error) *loader.Error {
	t.Helper()
	e, ok := err.(*loader.Error)
	if !ok {
		t.Fatalf("%T: %v", err, err)
	}
	return e
}
