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
		late := underway{slow{make(chan struct{})}, make(chan struct{}, 1)}
		rdb.AddHook(late)
		p := budgeted()
		p.Timeout = 10 * time.Second
		g := newGuard(t, rdb, p, guard.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-late.sent
			cancel()
			close(late.gate)
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
					rdb.AddHook(network)
					if late {
						network.held.Store(&held)
					}
					network.losing.Store(!late)
					p := budgeted()
					p.OnFailure, p.Timeout = c.mode, 2*time.Second // the call must reach Redis within it, also on a busy machine
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
			stuck := &holding{arrive: make(chan struct{})}
			rdb.AddHook(stuck)
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
			for deadline := time.Now().Add(10 * time.Second); stuck.others.Load() < 2 && time.Now().Before(deadline); { // a settlement and a release
				time.Sleep(time.Millisecond)
			}
			close(stuck.arrive)
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

// A holding hook keeps the first decision from Redis, and counts the other calls that ran.
type holding struct {
	held   atomic.Bool
	others atomic.Int32
	arrive chan struct{}
}

func (*holding) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *holding) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if hasCall(cmd) && cmd.Args()[1] == "guard_v1_admit" && h.held.CompareAndSwap(false, true) {
			words := slices.Clone(cmd.Args()) // as if they were written: an abandoned command is not sent
			<-h.arrive
			return next(ctx, redis.NewCmd(ctx, words...))
		}
		err := next(ctx, cmd)
		if hasCall(cmd) {
			h.others.Add(1)
		}
		return err
	}
}

func (h *holding) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// underway is slow, and signals when a call is sent.
type underway struct {
	slow
	sent chan struct{}
}

func (u underway) note(cmds ...redis.Cmder) {
	if !hasCall(cmds...) {
		return
	}
	select {
	case u.sent <- struct{}{}:
	default:
	}
}

func (u underway) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		u.note(cmd)
		return u.slow.ProcessHook(next)(ctx, cmd)
	}
}

func (u underway) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		u.note(cmds...)
		return u.slow.ProcessPipelineHook(next)(ctx, cmds)
	}
}
