package guard_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
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
	if err := g.SetPolicy(chat(policy.Limit{Name: "streams", Kind: policy.Concurrency, Limit: 3})); err != nil { // a reload does not matter
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

func TestWait_getsAPlaceAfterItsRelease(t *testing.T) {
	rdb, _ := inProcess(t)
	refused := make(chan struct{}, 100)
	observers := on(func(e guard.Decided) {
		if e.Decision != nil && !e.Decision.Allowed {
			refused <- struct{}{}
		}
	})
	g := newGuard(t, rdb, chat(streams(1)), guard.Options{Observers: observers})
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

// One client takes at most half of the places, so the others wait, too.
func TestWait_oneClientDoesNotCrowdOutOthers(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(policy.Limit{Name: "minute", Limit: 1, Window: time.Minute}), guard.Options{MaxWait: time.Hour, MaxWaiting: 4})
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 7)
	wait := func(names ...string) {
		for _, name := range names {
			r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=" + name}}
			decide(t, g, r) // uses its limit up
			go func() {
				_, err := g.Wait(ctx, r)
				errs <- err
			}()
		}
	}
	next := func() error {
		select {
		case err := <-errs:
			return err
		case <-time.After(20 * time.Second):
			return errors.New("it waits")
		}
	}
	wait("ada", "ada", "ada")
	if err := next(); !errors.Is(err, guard.ErrCrowded) {
		t.Errorf("the third of one client: %v", err)
	}
	wait("bob", "cyd", "dan", "eve")
	for range 2 {
		if err := next(); !errors.Is(err, guard.ErrCrowded) {
			t.Errorf("the fifth and sixth: %v", err)
		}
	}
	cancel()
	for range 4 {
		if err := next(); !errors.Is(err, context.Canceled) {
			t.Errorf("one that waited: %v", err)
		}
	}
}

// Without Redis a place is kept in this process, or nowhere.
func TestDecide_placesWithoutRedis(t *testing.T) {
	first := decide(t, alone(t, chat(streams(8)), 1<<20), ada)
	first.Charge.Keep()
	if left, err := first.Charge.Renew(t.Context()); left <= 0 || err != nil {
		t.Errorf("a place in this process is kept for %v, %v", left, err)
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

func (f *flakyRedis) process(_ context.Context, cmds []redis.Cmder, send func([]redis.Cmder) error) (err error) {
	if !f.down.Load() {
		err = send(cmds)
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
			rdb.AddHook(hook(network.process))
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
					rdb.AddHook(hook(network.process))
					p := chat(streams(1))
					p.Endpoints[0].Limits[0].OnFailure, p.Timeout = mode, 300*time.Millisecond // the call is sent within it
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

// On a cluster, the places of a request are on several servers. Fifty requests of ten clients at once have three places in all, and each
// server has all of its places back in the end.
func TestDecide_placesOnACluster(t *testing.T) {
	cluster := engines.OnPath(t).StartCluster(t, 3, 0)
	p := chat(policy.Limit{Name: "own", Kind: policy.Concurrency, Limit: 2, Lease: 30 * time.Second})
	p.Limits = byAll(policy.Limit{Name: "all", Kind: policy.Concurrency, Limit: 3, Lease: 30 * time.Second})
	g, other := newGuard(t, cluster.Client(t), p, guard.Options{}), newGuard(t, cluster.Client(t), p, guard.Options{})
	request := func(client int) guard.Request {
		return guard.Request{Endpoint: "chat", Subjects: []string{"ip=" + strconv.Itoa(client)}}
	}
	for round := range 3 {
		var wg sync.WaitGroup
		var lost []<-chan struct{}
		var held []*guard.Decision
		var mu sync.Mutex
		for i := range 50 {
			wg.Go(func() {
				d, err := g.Decide(t.Context(), request(i%10))
				if err != nil || d.Fallback != guard.FallbackNone {
					t.Errorf("%+v, %v", d, err)
					return
				}
				if d.Allowed {
					mu.Lock()
					defer mu.Unlock()
					held = append(held, d)
					lost = append(lost, d.Charge.Keep())
				}
			})
		}
		wg.Wait()
		guard.WaitBackground(g)
		// A refusal by one server may keep a place of another until it is refunded, so fewer may pass at once, or none.
		if len(held) > 3 {
			t.Fatalf("round %d: %d of 50 have a place, want at most 3", round, len(held))
		}
		for i := len(held); i < 3; i++ {
			d := decide(t, g, request(100+i))
			if !d.Allowed {
				t.Fatalf("round %d: %d places are free, and a request is refused: %+v", round, 3-i, d)
			}
			held, lost = append(held, d), append(lost, d.Charge.Keep())
		}
		guard.WakePlaces(g, 11*time.Second) // renews on each server
		if d := decide(t, g, request(200)); d.Allowed || d.Reason != guard.ReasonGlobal {
			t.Errorf("round %d: a fourth: %+v", round, d)
		}
		guard.WaitBackground(g)
		for i, d := range held {
			select {
			case <-lost[i]:
				t.Errorf("round %d: a place was lost", round)
			default:
			}
			if i == 0 {
				d.Charge.End(t.Context(), guard.End{})
				continue
			}
			// Another process has the others.
			c, err := other.ParseCharge(d.Charge.Detach().Text())
			if err != nil {
				t.Fatal(err)
			}
			if left, err := c.Renew(t.Context()); err != nil || left == 0 {
				t.Errorf("round %d: renewed for %v: %v", round, left, err)
			}
			if released, err := c.Release(t.Context()); err != nil || !released {
				t.Errorf("round %d: released %v: %v", round, released, err)
			}
		}
		guard.WaitBackground(g)
		for i := range 10 {
			a, b := decide(t, g, request(i)), decide(t, g, request(i))
			if !a.Allowed || !b.Allowed {
				t.Errorf("round %d: client %d has not two places: %+v %+v", round, i, a, b)
			}
			a.Charge.End(t.Context(), guard.End{})
			b.Charge.End(t.Context(), guard.End{})
			guard.WaitBackground(g)
		}
	}
}
