package guard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func peekSpent(t *testing.T, rdb redis.UniversalClient, subject string) fcall.Micros {
	t.Helper()
	costs, err := cost.New(rdb, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	peek, err := costs.Peek(t.Context(), cost.PeekParams{Subject: fcall.Subject(subject), Budgets: cost.PackBudget(cost.Budget{Budget: 1_000_000, Window: 24 * time.Hour, Name: "day"})})
	if err != nil {
		t.Fatal(err)
	}
	return peek.Budgets[0].Spent
}

// A caller that hangs up while Redis answers gets the decision, and can end what it holds.
func TestDecide_hangUpGetsTheAnswer(t *testing.T) {
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		load(t, rdb)
		gate, sent := make(chan struct{}), make(chan struct{}, 1)
		rdb.AddHook(slow(gate, sent))
		p := budgeted()
		p.Timeout = 10 * time.Second
		g := newGuard(t, rdb, p, guard.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-sent
			cancel()
			close(gate)
		}()
		d, err := g.Decide(ctx, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
		if err != nil || !d.Allowed || d.Fallback != guard.FallbackNone {
			t.Fatal(d, err)
		}
		d.Charge.End(ctx, guard.End{Gone: true})
		guard.WaitBackground(g)
		if got := peekSpent(t, rdb, "ip=ada"); got != 0 {
			t.Errorf("%v is reserved after the end of the request", got)
		}
	})
}

// What stays charged of a request whose answer came too late, or never: its limits. A reservation of a request that does not pass ends, but
// for one with a receipt, by which a repeat may pass. One of a request that passes is settled.
func TestDecide_whatStaysChargedWithoutAnAnswer(t *testing.T) {
	for _, c := range []struct {
		mode    policy.OnFailure
		receipt string
		spent   fcall.Micros
	}{
		{policy.Closed, "", 0},
		{policy.Closed, "once", 100_000},
		{policy.Open, "", 300_000},
		{policy.Open, "once", 300_000},
		{policy.Local, "", 300_000},
	} {
		for _, late := range []bool{true, false} { // or it is lost
			t.Run(fmt.Sprint(c.mode, " ", c.receipt, " late ", late), func(t *testing.T) {
				t.Parallel()
				eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
					load(t, rdb)
					peekSpent(t, rdb, "ip=ada") // loads the library that settles, whose call would find none while answers are lost
					network, held := new(flakyRedis), make(chan struct{})
					rdb.AddHook(hook(network.process))
					if late {
						network.held.Store(&held)
					}
					network.losing.Store(!late)
					p := budgeted()
					p.OnFailure, p.Timeout = c.mode, 300*time.Millisecond // the call must reach Redis within it, also on a busy machine
					p.Endpoints[0].Limits = []policy.Limit{{Name: "minute", Kind: policy.SlidingLog, Limit: 10, Window: time.Minute}}
					p.Limits = byAll(policy.Limit{Name: "all", Kind: policy.GCRA, Limit: 10, Window: time.Hour})
					g := newGuard(t, rdb, p, guard.Options{CacheSize: -1})
					d, err := g.Decide(t.Context(), guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Receipt: c.receipt})
					if errors.Is(err, guard.ErrUnavailable) != (c.mode == policy.Closed) || late && err == nil && !errors.Is(d.Cause, guard.ErrTimeout) {
						t.Fatal(d, err)
					}
					network.losing.Store(false)
					network.held.Store(nil)
					close(held)
					if err == nil {
						if err := d.Charge.Settle(t.Context(), 300_000); err != nil {
							t.Fatal(err)
						}
					}
					guard.WaitBackground(g)
					if got := peekSpent(t, rdb, "ip=ada"); got != c.spent {
						t.Errorf("%v is spent, want %v", got, c.spent)
					}
					again := newGuard(t, rdb, p, guard.Options{CacheSize: -1})
					for _, l := range decide(t, again, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}).Limits {
						if l.Remaining != 8 {
							t.Errorf("%s: %d of 10 are left after two requests", l.Name, l.Remaining)
						}
					}
				})
			})
		}
	}
}

// A call that arrives after its request has ended what it holds takes nothing: neither money nor a place.
func TestDecide_callThatArrivesAfterItsEnd(t *testing.T) {
	for _, mode := range []policy.OnFailure{policy.Closed, policy.Open} {
		t.Run(string(mode), func(t *testing.T) {
			rdb, _ := inProcess(t)
			load(t, rdb)
			var held atomic.Bool
			var others atomic.Int32 // calls that ran
			arrive := make(chan struct{})
			rdb.AddHook(hook(func(ctx context.Context, cmds []redis.Cmder, send func([]redis.Cmder) error) error {
				if hasCall(cmds...) && cmds[0].Args()[1] == "guard_v1_admit" && held.CompareAndSwap(false, true) {
					words := slices.Clone(cmds[0].Args()) // as if they were written: an abandoned command is not sent
					<-arrive
					return send([]redis.Cmder{redis.NewCmd(ctx, words...)})
				}
				err := send(cmds)
				if hasCall(cmds...) {
					others.Add(1)
				}
				return err
			}))
			p := budgeted()
			p.OnFailure, p.Timeout = mode, 50*time.Millisecond
			p.Endpoints[0].Limits = []policy.Limit{streams(1)}
			g := newGuard(t, rdb, p, guard.Options{CacheSize: -1})
			d, err := g.Decide(t.Context(), guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
			if (err == nil) != (mode == policy.Open) {
				t.Fatal(d, err)
			}
			if err == nil {
				d.Charge.End(t.Context(), guard.End{Gone: true})
			}
			for deadline := time.Now().Add(10 * time.Second); others.Load() < 2 && time.Now().Before(deadline); { // a settlement and a release
				time.Sleep(time.Millisecond)
			}
			close(arrive)
			guard.WaitBackground(g)
			if got := peekSpent(t, rdb, "ip=ada"); got != 0 {
				t.Errorf("%v is reserved", got)
			}
			patient := newGuard(t, rdb, chat(streams(1)), guard.Options{})
			if n := free(t, patient); n != 1 {
				t.Errorf("%d places are free, want 1", n)
			}
		})
	}
}
