package guard_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// streams is a limit of requests at the same time, with a lease of 30 s.
func streams(limit int64) policy.Limit {
	return policy.Limit{Name: "streams", Kind: policy.Concurrency, Limit: limit}
}

var ada = guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}

// free returns how many places of the first limit are free.
func free(t *testing.T, g *guard.Guard) int64 {
	t.Helper()
	guard.WaitBackground(g)
	d := decide(t, g, ada)
	d.Charge.End(context.Background(), guard.End{})
	guard.WaitBackground(g)
	if !d.Allowed {
		return 0
	}
	return d.Limits[0].Remaining + 1
}

func TestDecide_placesAreHeldUntilRelease(t *testing.T) {
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		g := newGuard(t, rdb, chat(streams(2), policy.Limit{Name: "minute", Kind: policy.GCRA, Limit: 100, Window: time.Hour}), guard.Options{})
		first, second, third := decide(t, g, ada), decide(t, g, ada), decide(t, g, ada)
		if !first.Allowed || !second.Allowed || first.Charge == nil || second.Charge == nil {
			t.Fatalf("two of two: %+v and %+v", first, second)
		}
		if third.Allowed || third.Charge != nil || third.Reason != guard.ReasonLimit || !third.AwaitsPlace || third.RetryAfter != time.Second {
			t.Errorf("a third: %+v", third)
		}
		wait := third.Limits[0].RetryAfter
		if wait <= 25*time.Second || wait > 30*time.Second {
			t.Errorf("the first lease ends in %v", wait)
		}
		want := guard.LimitState{Name: "streams", Endpoint: "chat", Subject: "ip=ada", Kind: policy.Concurrency, Limit: 2, Lease: 30 * time.Second, RetryAfter: wait}
		if diff := cmp.Diff(want, third.Limits[0]); diff != "" {
			t.Errorf("its limit (-want +got):\n%s", diff)
		}
		if left := third.Limits[1].Remaining; left != 98 {
			t.Errorf("the other limit has %d left of 100 after two", left)
		}
		first.Charge.End(context.Background(), guard.End{})
		first.Charge.End(context.Background(), guard.End{})
		guard.WaitBackground(g)
		if again := decide(t, g, ada); !again.Allowed { // not cached
			t.Errorf("after a release: %+v", again)
		}
		if n := free(t, g); n != 0 {
			t.Errorf("%d places are free after one was released and taken", n)
		}
	})
}

// A refusal by the limit of another server gives the place back.
func TestDecide_refusalByAnotherLimitTakesNoPlace(t *testing.T) {
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		limits := append([]policy.Limit{streams(5)}, byAll(policy.Limit{Name: "all", Kind: policy.FixedWindow, Limit: 1, Window: time.Hour})...)
		g := newGuard(t, rdb, chat(limits...), guard.Options{CacheSize: -1})
		first := decide(t, g, ada)
		for range 10 {
			if d := decide(t, g, ada); d.Allowed || d.Reason != guard.ReasonGlobal || d.AwaitsPlace || d.Charge != nil {
				t.Fatalf("above the global limit: %+v", d)
			}
			guard.WaitBackground(g) // on several servers a call had a place until it was refunded
		}
		first.Charge.End(context.Background(), guard.End{})
	})
}

func TestDecide_shadowPlacesNeverRefuse(t *testing.T) {
	rdb, _ := inProcess(t)
	l := streams(1)
	l.Shadow = true
	g := newGuard(t, rdb, chat(l, policy.Limit{Name: "minute", Limit: 100, Window: time.Minute}), guard.Options{})
	first, second := decide(t, g, ada), decide(t, g, ada)
	if !second.Allowed || second.Charge != nil || second.Limits[0].Allowed || first.Charge == nil {
		t.Errorf("with a shadow limit of one: %+v and %+v", first, second)
	}
	first.Charge.End(context.Background(), guard.End{})
	guard.WaitBackground(g)
	if third := decide(t, g, ada); !third.Limits[0].Allowed {
		t.Errorf("after a release: %+v", third)
	}
}

// pass moves the clock of Redis in steps of a third of a lease, as often as guard renews.
func pass(g *guard.Guard, clock *embedded.ManualClock, d time.Duration) {
	for step := 10 * time.Second; d > 0; d -= step {
		clock.Advance(min(step, d))
		guard.WakePlaces(g, step)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestKeep_renewsUntilRelease(t *testing.T) {
	rdb, clock := inProcess(t)
	g := newGuard(t, rdb, chat(streams(2)), guard.Options{})
	kept, forgotten := decide(t, g, ada), decide(t, g, ada)
	lost := kept.Charge.Keep()
	pass(g, clock, 30*time.Second)
	if n := free(t, g); n != 1 {
		t.Errorf("%d places are free after a lease, want that of the request that is not kept", n)
	}
	if err := g.SetPolicy(chat(policy.Limit{Name: "streams", Kind: policy.Concurrency, Limit: 3, Lease: time.Hour})); err != nil { // a reload does not matter
		t.Fatal(err)
	}
	pass(g, clock, time.Hour)
	if n := free(t, g); n != 2 {
		t.Errorf("%d of 3 places are free after an hour", n)
	}
	if isClosed(lost) {
		t.Error("a kept place is lost")
	}
	kept.Charge.End(context.Background(), guard.End{})
	forgotten.Charge.End(context.Background(), guard.End{})
	if n := free(t, g); n != 3 {
		t.Errorf("%d of 3 places are free in the end", n)
	}
}

// An operator resets the limit: the request learns that its place is lost.
func TestKeep_reportsALostPlace(t *testing.T) {
	rdb, clock := inProcess(t)
	g := newGuard(t, rdb, chat(streams(1)), guard.Options{})
	d := decide(t, g, ada)
	lost := d.Charge.Keep()
	pass(g, clock, time.Minute)
	if isClosed(lost) {
		t.Error("lost before the reset")
	}
	rdb.FlushDB(t.Context())
	pass(g, clock, 10*time.Second)
	if !isClosed(lost) {
		t.Error("not reported a third of the lease after the reset")
	}
	other := decide(t, g, ada)
	d.Charge.End(context.Background(), guard.End{})
	if n := free(t, g); n != 0 {
		t.Error("the release freed another request's place")
	}
	other.Charge.End(context.Background(), guard.End{})
}

func TestDetach_outlastsTheRequest(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(streams(1)), guard.Options{})
	d := decide(t, g, ada)
	detached := d.Charge.Detach()
	d.Charge.End(t.Context(), guard.End{})
	if n := free(t, g); n != 0 {
		t.Error("the end of the request released detached places")
	}
	detached.End(t.Context(), guard.End{})
	if n := free(t, g); n != 1 {
		t.Error("the end of the detached charge did not release them")
	}
	decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=bob"}}).Charge.End(context.Background(), guard.End{})
}

func TestWait_getsAPlaceAfterItsRelease(t *testing.T) {
	rdb, _ := inProcess(t)
	refused := make(chan struct{}, 100)
	hooks := []guard.Hooks{{Decided: func(_ context.Context, e guard.Event) {
		if e.Decision != nil && !e.Decision.Allowed {
			refused <- struct{}{}
		}
	}}}
	g := newGuard(t, rdb, chat(streams(1)), guard.Options{Hooks: hooks})
	first := decide(t, g, ada)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if d, err := g.Wait(ctx, ada); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a release: %+v, %v", d, err)
	}
	for len(refused) > 0 {
		<-refused
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		d, err := g.Wait(t.Context(), ada)
		if err != nil || !d.Allowed {
			t.Errorf("after a release: %+v, %v", d, err)
			return
		}
		d.Charge.End(context.Background(), guard.End{})
	})
	<-refused
	<-refused // it polls
	first.Charge.End(context.Background(), guard.End{})
	wg.Wait()
}

// Without Redis a process has its share of the places.
func TestDecide_placesWithoutRedis(t *testing.T) {
	l := streams(8)
	l.Share = 0.25
	g := alone(t, chat(l), 1<<20)
	first, second, third := decide(t, g, ada), decide(t, g, ada), decide(t, g, ada)
	if !first.Allowed || !second.Allowed || third.Allowed || first.Fallback != guard.FallbackLocal || !third.AwaitsPlace {
		t.Errorf("of a share of two: %+v, %+v and %+v", first, second, third)
	}
	first.Charge.Keep()
	if left, err := first.Charge.Renew(t.Context()); left <= 0 || err != nil {
		t.Errorf("a place in this process is kept for %v, %v", left, err)
	}
	first.Charge.End(context.Background(), guard.End{})
	second.Charge.End(context.Background(), guard.End{})
	guard.WaitBackground(g)
	if d := decide(t, g, ada); !d.Allowed || d.Limits[0].Remaining != 1 {
		t.Errorf("after the releases: %+v", d)
	}
	for mode, allowed := range map[policy.OnFailure]bool{policy.Open: true, policy.Closed: false} {
		l := streams(1)
		l.OnFailure = mode
		g := alone(t, chat(l), 1<<20)
		for range 3 {
			d, err := g.Decide(t.Context(), ada)
			if (err == nil) != allowed || err == nil && (!d.Allowed || d.Charge != nil) {
				t.Errorf("%s: %+v, %v", mode, d, err)
			}
		}
	}
}

// A flakyRedis is a hook that fails or delays what is sent.
type flakyRedis struct {
	down   atomic.Bool                   // nothing reaches Redis
	losing atomic.Bool                   // answers are lost
	held   atomic.Pointer[chan struct{}] // answers wait until it is closed
}

var errNetwork = &net.OpError{Op: "read", Err: errors.New("connection reset")}

func (*flakyRedis) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *flakyRedis) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return f.process([]redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

func (f *flakyRedis) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return f.process(cmds, func() error { return next(ctx, cmds) })
	}
}

func (f *flakyRedis) process(cmds []redis.Cmder, next func() error) (err error) {
	if !f.down.Load() {
		err = next()
	}
	if held := f.held.Load(); held != nil && hasCall(cmds...) {
		<-*held
	}
	if f.down.Load() || f.losing.Load() && hasCall(cmds...) {
		err = errNetwork
		for _, cmd := range cmds {
			cmd.SetErr(err)
		}
	}
	return err
}

func TestKeep_outage(t *testing.T) {
	for name, c := range map[string]struct {
		lasts time.Duration
		lost  bool
	}{"shorter than a lease": {10 * time.Second, false}, "longer than a lease": {time.Minute, true}} {
		t.Run(name, func(t *testing.T) {
			rdb, clock := inProcess(t)
			network := new(flakyRedis)
			rdb.AddHook(network)
			p := chat(streams(2))
			p.Endpoints[0].Limits[0].OnFailure = policy.Open
			g := newGuard(t, rdb, p, guard.Options{BreakFor: time.Nanosecond})
			d := decide(t, g, ada)
			lost := d.Charge.Keep()
			network.down.Store(true)
			for range 10 {
				if d := decide(t, g, ada); !d.Allowed || d.Charge != nil {
					t.Fatalf("without Redis: %+v", d)
				}
			}
			pass(g, clock, c.lasts)
			network.down.Store(false)
			pass(g, clock, 10*time.Second)
			if isClosed(lost) != c.lost {
				t.Errorf("lost: %v, want %v", isClosed(lost), c.lost)
			}
			want := int64(1)
			if c.lost {
				want = 2
			}
			if n := free(t, g); n != want {
				t.Errorf("%d of 2 places are free after the outage, want %d", n, want)
			}
			d.Charge.End(context.Background(), guard.End{})
			if n := free(t, g); n != 2 {
				t.Errorf("%d of 2 places are free in the end", n)
			}
		})
	}
}

// A place that a call took without its request is released at once, not when its lease ends: the clock stands still.
func TestDecide_placesOfLateAndLostAnswers(t *testing.T) {
	t.Parallel()
	for _, mode := range []policy.OnFailure{policy.Open, policy.Closed, policy.Local} {
		for _, receipt := range []string{"", "click"} {
			for _, late := range []bool{true, false} {
				t.Run(fmt.Sprint(mode, " ", receipt, " late ", late), func(t *testing.T) {
					t.Parallel()
					rdb, _ := inProcess(t)
					network := new(flakyRedis)
					rdb.AddHook(network)
					p := chat(streams(1))
					p.Endpoints[0].Limits[0].OnFailure, p.Timeout = mode, 2*time.Second // the call is sent within it
					g := newGuard(t, rdb, p, guard.Options{})
					patient := newGuard(t, rdb, chat(streams(1)), guard.Options{})
					decide(t, patient, ada).Charge.End(context.Background(), guard.End{}) // loads the library
					guard.WaitBackground(patient)
					held := make(chan struct{})
					if late {
						network.held.Store(&held)
					}
					network.losing.Store(!late)
					r := ada
					r.Receipt = receipt
					d, err := g.Decide(t.Context(), r)
					if (err != nil) != (mode == policy.Closed) {
						t.Fatalf("%+v, %v", d, err)
					}
					network.losing.Store(false)
					network.held.Store(nil)
					close(held)
					guard.WaitBackground(g)
					guard.WakePlaces(g, 10*time.Second) // if the first release was lost
					if n := free(t, patient); n != 1 {
						t.Errorf("%d places are free, want 1", n)
					}
					if err == nil {
						d.Charge.End(context.Background(), guard.End{})
					}
				})
			}
		}
	}
}
