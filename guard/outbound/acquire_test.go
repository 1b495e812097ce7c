package outbound_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/outbound"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// llm is a policy with one upstream.
func llm(maxWait time.Duration, limits ...policy.Limit) *policy.Policy {
	return &policy.Policy{Timeout: 10 * time.Second, Upstreams: []policy.Upstream{{Name: "llm", MaxWait: &maxWait, Limits: limits}}}
}

// A process has a guard and a transport.
type process struct {
	*outbound.Transport
	guard *guard.Guard
}

func newProcess(t *testing.T, rdb fcall.Caller, p *policy.Policy, o guard.Options, with ...outbound.Options) *process {
	t.Helper()
	g, err := guard.New(rdb, p, o)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := outbound.New(g, append(with, outbound.Options{})[0])
	if err != nil {
		t.Fatal(err)
	}
	return &process{transport, g}
}

// bubble runs f in virtual time, with guards that share a server.
func bubble(t *testing.T, f func(t *testing.T, join func(*policy.Policy, guard.Options) *process)) {
	dropPools()
	defer dropPools()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.New(embedded.Options{})
		var all []*process
		f(t, func(p *policy.Policy, o guard.Options) *process {
			o.NoOverrides, o.CacheSize = true, -1 // the cache's clock does not end
			g := newProcess(t, server, p, o)
			all = append(all, g)
			return g
		})
		for _, g := range all {
			_ = g.guard.Close()
		}
		_ = server.Close()
		time.Sleep(time.Minute) // idle goroutines end
	})
}

// dropPools empties the pools of package fcall: a channel belongs to the bubble that made it.
func dropPools() {
	runtime.GC()
	runtime.GC()
}

func call(account string) guard.Request {
	return guard.Request{Endpoint: "llm", Subjects: []string{"account=llm/" + account}}
}

func TestAcquire_servesInTheOrderOfArrival(t *testing.T) {
	bubble(t, func(t *testing.T, join func(*policy.Policy, guard.Options) *process) {
		g := join(llm(time.Hour, policy.Limit{Name: "second", Limit: 1, Window: time.Second}), guard.Options{})
		var all sync.WaitGroup
		var mu sync.Mutex
		var got []int
		for i := range 20 {
			all.Go(func() {
				if _, err := g.Acquire(t.Context(), call("a")); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				got = append(got, i)
			})
			time.Sleep(time.Millisecond)
		}
		start := time.Now()
		if _, err := g.Acquire(t.Context(), call("another")); err != nil || time.Since(start) != 0 {
			t.Errorf("another account waited %s: %v", time.Since(start), err)
		}
		all.Wait()
		if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if took := time.Since(start); took < 19*time.Second || took > 21*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestAcquire_failsAtOnceIfItCannotBeInTime(t *testing.T) {
	bubble(t, func(t *testing.T, join func(*policy.Policy, guard.Options) *process) {
		g := join(llm(time.Hour, policy.Limit{Name: "minute", Limit: 1, Window: 50 * time.Second}), guard.Options{})
		if _, err := g.Acquire(t.Context(), guard.Request{Endpoint: "llm"}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		start := time.Now()
		_, err := g.Acquire(ctx, guard.Request{Endpoint: "llm"})
		var refused *outbound.RefusedError
		if !errors.As(err, &refused) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 0 {
			t.Fatalf("after %s: %v", time.Since(start), err)
		}
		want := "call llm: account=llm/default is refused by limit minute; try again in 50.5s: context deadline exceeded"
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if refused.Decision.RetryAfter != 50*time.Second+500*time.Millisecond || refused.Decision.Limits[0].Name != "minute" {
			t.Errorf("%+v", refused.Decision)
		}

		go func() { _, _ = g.Acquire(t.Context(), guard.Request{Endpoint: "llm"}) }()
		time.Sleep(10 * time.Second)
		if _, err = g.Acquire(ctx, guard.Request{Endpoint: "llm"}); !errors.As(err, &refused) || refused.Decision.RetryAfter > 41*time.Second || time.Since(start) != 10*time.Second {
			t.Errorf("behind another, after %s: %v", time.Since(start), err)
		}
		time.Sleep(time.Minute)
	})
}

func TestAcquire_neverWaitsIfThePolicySaysSo(t *testing.T) {
	bubble(t, func(t *testing.T, join func(*policy.Policy, guard.Options) *process) {
		g := join(llm(0, policy.Limit{Name: "at_once", Kind: policy.Concurrency, Limit: 1}), guard.Options{})
		d, err := g.Acquire(t.Context(), call("a"))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var refused *outbound.RefusedError
		if _, err := g.Acquire(t.Context(), call("a")); !errors.As(err, &refused) || time.Since(start) != 0 {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		d.End(t.Context(), guard.End{})
		synctest.Wait() // it ends in the background
		if d, err = g.Acquire(t.Context(), call("a")); err != nil {
			t.Fatal(err)
		}
		d.End(t.Context(), guard.End{})
	})
}

// A call that gives up lets the next one ask.
func TestAcquire_cancelledInLine(t *testing.T) {
	bubble(t, func(t *testing.T, join func(*policy.Policy, guard.Options) *process) {
		g := join(llm(time.Hour, policy.Limit{Name: "second", Limit: 1, Window: time.Second}), guard.Options{})
		if _, err := g.Acquire(t.Context(), call("a")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if _, err := g.Acquire(ctx, call("a")); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Millisecond)
		start := time.Now()
		all.Go(func() {
			if _, err := g.Acquire(t.Context(), call("a")); err != nil || time.Since(start) > 1100*time.Millisecond {
				t.Errorf("after %s: %v", time.Since(start), err)
			}
		})
		time.Sleep(time.Millisecond)
		cancel()
		all.Wait()
	})
}

// Calls that wait while the guard is closed go on.
func TestAcquire_whileTheGuardIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T, join func(*policy.Policy, guard.Options) *process) {
		g := join(llm(time.Hour, policy.Limit{Name: "second", Limit: 1, Window: time.Second}, policy.Limit{Name: "at_once", Kind: policy.Concurrency, Limit: 1}), guard.Options{})
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				d, err := g.Acquire(t.Context(), call("a"))
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(500 * time.Millisecond)
				d.End(t.Context(), guard.End{})
			})
		}
		time.Sleep(100 * time.Millisecond)
		_ = g.guard.Close()
		all.Wait()
	})
}

func TestAcquire_boundsItsLine(t *testing.T) {
	bubble(t, func(t *testing.T, join func(*policy.Policy, guard.Options) *process) {
		g := join(llm(time.Hour, policy.Limit{Name: "long", Limit: 1, Window: 50 * time.Minute}), guard.Options{MaxWaiting: 4})
		if _, err := g.Acquire(t.Context(), call("a")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 2 {
			go func() { _, _ = g.Acquire(ctx, call("a")) }()
			time.Sleep(time.Minute)
		}
		if _, err := g.Acquire(ctx, call("a")); !errors.Is(err, guard.ErrCrowded) {
			t.Errorf("got %v", err)
		}
	})
}

// However many calls of an account come at once, Redis decides each: those that were too many in flight would be decided without it.
func TestAcquire_manyAtOnce(t *testing.T) {
	server := embedded.New(embedded.Options{})
	defer server.Close()
	rdb := server.Client()
	defer rdb.Close()
	g := newProcess(t, rdb, llm(time.Minute, policy.Limit{Name: "hour", Limit: 20, Window: time.Hour}), guard.Options{MaxInFlight: 16})
	defer g.guard.Close()
	var all sync.WaitGroup
	var admitted, alone atomic.Int64
	for range 200 {
		all.Go(func() {
			switch d, err := g.Acquire(t.Context(), call("a")); {
			case err == nil && d.Decision.Fallback != guard.FallbackNone:
				alone.Add(1)
			case err == nil:
				admitted.Add(1)
			}
		})
	}
	if all.Wait(); admitted.Load() != 20 || alone.Load() != 0 {
		t.Errorf("admitted %d of 20, and %d without Redis", admitted.Load(), alone.Load())
	}
}

// A call has its places until it ends, however long that takes.
func TestAcquire_keepsPlaces(t *testing.T) {
	bubble(t, func(t *testing.T, join func(*policy.Policy, guard.Options) *process) {
		p := llm(time.Hour, policy.Limit{Name: "at_once", Kind: policy.Concurrency, Limit: 1, Lease: time.Second})
		one, other := join(p, guard.Options{}), join(p, guard.Options{})
		d, err := one.Acquire(t.Context(), call("a"))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		time.AfterFunc(time.Minute, func() { d.End(t.Context(), guard.End{}) })
		second, err := other.Acquire(t.Context(), call("a"))
		if took := time.Since(start); err != nil || took < time.Minute || took > time.Minute+time.Second {
			t.Errorf("after %s: %v", took, err)
		}
		second.End(t.Context(), guard.End{})
	})
}

func TestPause_holdsInAllProcesses(t *testing.T) {
	bubble(t, func(t *testing.T, join func(*policy.Policy, guard.Options) *process) {
		p := llm(0, policy.Limit{Name: "minute", Limit: 1000, Window: time.Minute})
		one, other := join(p, guard.Options{}), join(p, guard.Options{})
		left := func(g *process) time.Duration {
			_, err := g.Acquire(t.Context(), call("a"))
			var refused *outbound.RefusedError
			if err != nil && (!errors.As(err, &refused) || refused.Decision.Reason != guard.ReasonBlocked) {
				t.Fatal(err)
			}
			if err == nil {
				return 0
			}
			return refused.Decision.RetryAfter
		}
		pause := func(d, want time.Duration) {
			t.Helper()
			if err := one.Pause(t.Context(), "account=llm/a", d); err != nil {
				t.Error(err)
			}
			if got := left(other); got != want {
				t.Errorf("after a pause of %s: %s left, want %s", d, got, want)
			}
		}
		pause(-time.Second, 0)
		pause(10*time.Second, 10*time.Second)
		if got := left(one); got != 10*time.Second {
			t.Errorf("%s in the process that learned it", got)
		}
		time.Sleep(4 * time.Second)
		pause(5*time.Second, 6*time.Second) // never shortened
		if _, err := other.Acquire(t.Context(), call("b")); err != nil {
			t.Errorf("another account: %v", err)
		}
		time.Sleep(6 * time.Second)
		if one, other := left(one), left(other); one != 0 || other != 0 {
			t.Errorf("after its end, %s and %s left", one, other)
		}
		pause(365*24*time.Hour, time.Hour)
	})
}

func TestAcquire_badInput(t *testing.T) {
	bubble(t, func(t *testing.T, join func(*policy.Policy, guard.Options) *process) {
		g := join(llm(0, policy.Limit{Name: "minute", Limit: 1000, Window: time.Minute}), guard.Options{})
		if _, err := g.Acquire(t.Context(), guard.Request{Endpoint: "other"}); !errors.Is(err, guard.ErrEndpoint) {
			t.Errorf("got %v", err)
		}
		for _, subjects := range [][]string{{"ip=192.0.2.1"}, {"account=other/a"}, {"account=llm/"}, {"account=llm/a", "account=llm/b"}} {
			if _, err := g.Acquire(t.Context(), guard.Request{Endpoint: "llm", Subjects: subjects}); !errors.Is(err, fcall.ErrArgument) {
				t.Errorf("%v: %v", subjects, err)
			}
		}
		for _, subject := range []string{"ip=192.0.2.1", "account=other/a", ""} {
			if err := g.Pause(t.Context(), subject, time.Second); !errors.Is(err, fcall.ErrArgument) {
				t.Errorf("%q: %v", subject, err)
			}
		}
	})
}

// Without Redis, each process admits its share, and knows the pauses that it learned.
func TestAcquire_withoutRedis(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", DialerRetries: 1})
	defer rdb.Close()
	g := newProcess(t, rdb, llm(0, policy.Limit{Name: "hour", Limit: 8, Window: time.Hour}), guard.Options{})
	defer g.guard.Close()
	admitted := 0
	for range 8 {
		if d, err := g.Acquire(t.Context(), call("a")); err == nil && d.Decision.Fallback == guard.FallbackLocal {
			admitted++
		}
	}
	if admitted != 2 {
		t.Errorf("admitted %d of 8 with a share of 0.25", admitted)
	}
	if err := g.Pause(t.Context(), "account=llm/b", time.Minute); err == nil {
		t.Error("a pause that no other process knows is no error")
	}
	_ = g.Pause(t.Context(), "account=llm/b", time.Millisecond)
	var refused *outbound.RefusedError
	if _, err := g.Acquire(t.Context(), call("b")); !errors.As(err, &refused) || refused.Decision.Reason != guard.ReasonBlocked || refused.Decision.RetryAfter < 50*time.Second {
		t.Errorf("after a pause and a shorter one: %v", err)
	}
}
