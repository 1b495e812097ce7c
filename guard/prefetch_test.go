package guard_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// hot is a policy with a global limit that is prefetched.
func hot(limit int64, more ...policy.Limit) *policy.Policy {
	p := chat(more...)
	p.Endpoints[0].Unbounded = true
	p.Limits = byAll(policy.Limit{
		Name: "all", Kind: policy.FixedWindow, Limit: limit, Window: time.Hour, Prefetch: &policy.Prefetch{Most: min(limit, 100), For: 10 * time.Second},
	})
	return p
}

// plain is the same policy without prefetch.
func plain(p *policy.Policy) *policy.Policy {
	q := *p
	q.Limits = append([]policy.Limit(nil), p.Limits...)
	q.Limits[0].Prefetch = nil
	return &q
}

// admitted returns how many of n requests pass.
func admitted(t *testing.T, g *guard.Guard, n int, r guard.Request) (passed int) {
	t.Helper()
	for range n {
		if decide(t, g, r).Allowed {
			passed++
		}
	}
	return passed
}

var anyRequest = guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}

func TestPrefetch_decidesFromMemory(t *testing.T) {
	rdb, _ := inProcess(t)
	var called, taken, refunded, calls atomic.Int64
	g := newGuard(t, rdb, hot(2000), guard.Options{Observers: append(on(func(e guard.Decided) {
		if e.Redis > 0 {
			called.Add(1)
		}
	}), on(func(added guard.Prefetched) {
		if added.Limit != "all" {
			t.Errorf("%+v", added)
		}
		taken.Add(added.Taken)
		refunded.Add(added.Refunded)
		calls.Add(added.Calls)
	})...)})
	var passed atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 300 {
				d, err := g.Decide(t.Context(), anyRequest)
				if err != nil {
					t.Error(err)
					return
				}
				l := d.Limits[0]
				if d.Allowed {
					passed.Add(1)
				} else if d.Reason != guard.ReasonGlobal || d.Refused != "" || d.RetryAfter <= 0 || d.RetryAfter != l.RetryAfter {
					t.Errorf("refused: %+v", d)
				}
				if len(d.Limits) != 1 || l.Allowed != d.Allowed || l.Subject != "global/all" || !l.Global || l.Limit != 2000 || l.Remaining > 2000 || l.ResetAfter > time.Hour {
					t.Errorf("%+v", d.Limits)
				}
			}
		})
	}
	group.Wait()
	if n := passed.Load(); n != 2000 {
		t.Errorf("%d of 2400 passed, want 2000", n)
	}
	s := g.Prefetches()
	if len(s) != 1 || s[0].Limit != "all" || s[0].Taken-s[0].Refunded != 2000 || s[0].Calls > 400 || called.Load() != 0 {
		t.Errorf("%+v, and %d decisions called Redis", s, called.Load())
	}
	if s[0].Taken != taken.Load() || s[0].Refunded != refunded.Load() || s[0].Calls != calls.Load() {
		t.Errorf("%+v, and the hook counted %d calls, %d taken, %d refunded", s, calls.Load(), taken.Load(), refunded.Load())
	}
}

// A request that another limit refuses is not charged, and one that a batch refuses charges no other limit.
func TestPrefetch_allOrNothing(t *testing.T) {
	rdb, _ := inProcess(t)
	p := hot(100, policy.Limit{Name: "own", Limit: 3, Window: time.Hour})
	g := newGuard(t, rdb, p, guard.Options{CacheSize: -1})
	if n := admitted(t, g, 50, anyRequest); n != 3 {
		t.Errorf("%d passed, want 3", n)
	}
	d := decide(t, g, anyRequest)
	if d.Reason != guard.ReasonLimit || d.Refused != "ip=ada" || len(d.Limits) != 2 || d.Limits[1].Name != "all" {
		t.Errorf("%+v", d)
	}
	guard.WaitBackground(g)
	if err := g.SetPolicy(plain(hot(100))); err != nil { // refunds the tokens
		t.Fatal(err)
	}
	guard.WaitBackground(g)
	if n := admitted(t, g, 200, guard.Request{Endpoint: "chat"}); n != 97 {
		t.Errorf("then %d passed, want 97", n)
	}
	if err := g.SetPolicy(p); err != nil {
		t.Fatal(err)
	}
	other := guard.Request{Endpoint: "chat", Subjects: []string{"ip=bob"}}
	if d := decide(t, g, other); d.Reason != guard.ReasonGlobal {
		t.Errorf("%+v", d)
	}
	p.Limits = nil
	if err := g.SetPolicy(p); err != nil {
		t.Fatal(err)
	}
	if n := admitted(t, g, 5, other); n != 3 {
		t.Errorf("the own limit admitted %d, want 3", n)
	}
}

// A weight above one and an attempt need Redis.
func TestPrefetch_asksRedisForTheRest(t *testing.T) {
	rdb, _ := inProcess(t)
	p := hot(100)
	p.Blocks = []policy.Block{{Name: "tries", Attempts: policy.CountAll, Tiers: []policy.Tier{{Threshold: 4, Window: time.Hour, Block: time.Hour}}}}
	p.Endpoints = append(p.Endpoints, policy.Endpoint{Name: "login", Block: "tries", Unbounded: true})
	g := newGuard(t, rdb, p, guard.Options{CacheSize: -1})
	login := guard.Request{Endpoint: "login", Subjects: []string{"ip=ada"}}
	if n := admitted(t, g, 5, login); n != 3 {
		t.Errorf("%d attempts passed, want 3", n)
	}
	if d := decide(t, g, anyRequest); !d.Allowed {
		t.Errorf("blocked at another endpoint: %+v", d)
	}
	bob := guard.Request{Endpoint: "chat", Subjects: []string{"ip=bob"}, Weight: 50}
	if d := decide(t, g, bob); !d.Allowed || d.Limits[0].Remaining != 46 {
		t.Errorf("weight 50, with 4 used: %+v", d)
	}
	bob.Weight = 1
	if n := admitted(t, g, 100, bob); n != 46 {
		t.Errorf("then %d passed, want 46", n)
	}
}

// A shadow limit takes tokens and never refuses.
func TestPrefetch_shadow(t *testing.T) {
	rdb, _ := inProcess(t)
	p := hot(10)
	p.Limits[0].Shadow = true
	g := newGuard(t, rdb, p, guard.Options{})
	for i := range 20 {
		if d := decide(t, g, anyRequest); !d.Allowed || d.Limits[0].Allowed != (i < 10) {
			t.Fatalf("request %d: %+v", i, d)
		}
	}
}

// The failure mode of the limit decides while Redis does not answer.
func TestPrefetch_failureModes(t *testing.T) {
	t.Parallel()
	for name, addr := range map[string]func(*testing.T) string{"refused connections": closedPort, "a silent server": silentServer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for mode, want := range map[policy.OnFailure]int{policy.Open: 10, policy.Closed: 0, policy.Local: 3} {
				p := hot(10)
				p.Timeout, p.Limits[0].OnFailure = 20*time.Millisecond, mode
				if mode == policy.Local {
					p.Share = 0.3
				}
				for _, p := range []*policy.Policy{p, withOwn(p)} {
					g := newGuard(t, redis.NewClient(&redis.Options{Addr: addr(t), MaxRetries: -1, DialerRetries: 1}), p, guard.Options{BreakFor: time.Hour})
					passed := 0
					for range 10 {
						d, err := g.Decide(t.Context(), anyRequest)
						switch {
						case errors.Is(err, guard.ErrUnavailable) && mode == policy.Closed:
						case err != nil || d.Allowed && (string(d.Fallback) != string(mode) || d.Cause == nil):
							t.Fatalf("%s: %+v, %v", mode, d, err)
						case d.Allowed:
							passed++
						}
					}
					if passed != want {
						t.Errorf("%s: %d of 10 passed, want %d", mode, passed, want)
					}
				}
			}
		})
	}
}

// withOwn adds a limit by client that is not prefetched and has the same failure mode.
func withOwn(p *policy.Policy) *policy.Policy {
	q := *p
	q.Endpoints = []policy.Endpoint{{Name: "chat", Limits: []policy.Limit{{Name: "own", Limit: 1000, Window: time.Hour, OnFailure: p.Limits[0].OnFailure}}}}
	return &q
}

// Clients that hang up while tokens are taken or refunded take none from others.
func TestPrefetch_hangUpsLoseNothing(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, hot(100), guard.Options{})
	passed := admitted(t, g, 1, anyRequest) // and loads the library
	calls, answer := make(chan struct{}), make(chan struct{})
	rdb.AddHook(hook(func(_ context.Context, cmds []redis.Cmder, send func([]redis.Cmder) error) error {
		err := send(cmds)
		if hasCall(cmds...) && cmds[0].Args()[1] == "guard_v1_take" {
			calls <- struct{}{}
			<-answer
		}
		return err
	}))
	for range 30 {
		before := g.Prefetches()[0].Calls
		ctx, hangUp := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := g.Decide(ctx, anyRequest)
			left <- err
		}()
		select {
		case <-left: // by a token of another one's call
			passed++
		case <-calls:
			hangUp()
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			answer <- struct{}{}
			for deadline := time.Now().Add(10 * time.Second); g.Prefetches()[0].Calls == before && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
		}
		hangUp()
	}
	go func() { // honest clients are not delayed
		for range calls {
			answer <- struct{}{}
		}
	}()
	if passed += admitted(t, g, 110, anyRequest); passed != 100 {
		t.Errorf("%d of 100 passed, and 30 hung up", passed)
	}
	if s := g.Prefetches()[0]; s.Failed != 0 || s.Lost != 0 {
		t.Errorf("%+v", s)
	}
}
