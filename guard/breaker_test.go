package guard_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// impatient are the ways in which a client stops waiting before Redis has answered.
var impatient = []struct {
	name string
	end  func(context.Context, *guard.Request) (context.Context, context.CancelFunc)
}{
	{"its own timeout, as Envoy's", func(ctx context.Context, r *guard.Request) (context.Context, context.CancelFunc) {
		r.Timeout = time.Microsecond
		return ctx, func() {}
	}},
	{"its own deadline", func(ctx context.Context, _ *guard.Request) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, time.Millisecond)
	}},
	{"its disconnect", func(ctx context.Context, _ *guard.Request) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Millisecond, cancel)
		return ctx, cancel
	}},
}

// What a client does to its own requests opens the circuit breaker for nobody else.
func TestDecide_impatientClientOpensNoBreaker(t *testing.T) {
	limits := map[string]func(*policy.Policy){
		"a limit": func(*policy.Policy) {},
		"a prefetched limit": func(p *policy.Policy) {
			p.Endpoints[0].Limits = nil
			p.Limits = byAll(policy.Limit{Name: "all", Kind: policy.FixedWindow, Limit: 1e6, Window: time.Minute, Prefetch: &policy.Prefetch{Most: 2, For: time.Millisecond}})
		},
	}
	for limit, change := range limits {
		for _, client := range impatient {
			t.Run(limit+"/"+client.name, func(t *testing.T) {
				eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
					var opened atomic.Bool
					load(t, rdb)
					rdb.AddHook(pausing(5 * time.Millisecond))
					p := chat(policy.Limit{Name: "minute", Limit: 1e6, Window: time.Minute, OnFailure: policy.Open})
					change(p)
					g := newGuard(t, rdb, p, guard.Options{BreakAfter: 1, CacheSize: -1, Hooks: []guard.Hooks{{
						Breaker: func(_ string, open bool) { opened.Store(opened.Load() || open) },
					}}})
					for range 20 {
						r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=mallory"}}
						ctx, cancel := client.end(t.Context(), &r)
						if _, err := g.Decide(ctx, r); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
							t.Fatal(err)
						}
						cancel()
					}
					if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}); d.Fallback != guard.FallbackNone {
						t.Errorf("another client: %s, %v", d.Fallback, d.Cause)
					}
					guard.WaitBackground(g)
					if opened.Load() {
						t.Error("the breaker opened")
					}
				})
			})
		}
	}
}

// pausing delays the answer to each call.
type pausing time.Duration

func (p pausing) DialHook(next redis.DialHook) redis.DialHook { return next }

func (p pausing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if hasCall(cmd) {
			time.Sleep(time.Duration(p))
		}
		return err
	}
}

func (p pausing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if hasCall(cmds...) {
			time.Sleep(time.Duration(p))
		}
		return err
	}
}

// A Redis that answers nobody opens it, even if no client waits as long as the policy says.
func TestDecide_silentServerOpensTheBreakerForImpatientClients(t *testing.T) {
	for _, client := range impatient {
		t.Run(client.name, func(t *testing.T) {
			rdb := redis.NewClient(&redis.Options{Addr: silentServer(t), ReadTimeout: 20 * time.Millisecond, MaxRetries: -1})
			t.Cleanup(func() { _ = rdb.Close() })
			p := chat(contracts()["open"])
			p.Timeout = 15 * time.Millisecond
			g := newGuard(t, rdb, p, guard.Options{BreakFor: time.Hour})
			for deadline := time.Now().Add(20 * time.Second); ; {
				r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}
				ctx, cancel := client.end(t.Context(), &r)
				d, err := g.Decide(ctx, r)
				cancel()
				if err == nil && errors.Is(d.Cause, guard.ErrBreaker) {
					return
				}
				if time.Now().After(deadline) {
					t.Fatal("the breaker stays closed")
				}
			}
		})
	}
}
