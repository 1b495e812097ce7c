package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/ask"
	"github.com/rlfunc/rlfunc/guard/internal/denied"
	"github.com/rlfunc/rlfunc/guard/internal/fallback"
	"github.com/rlfunc/rlfunc/guard/internal/override"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Options of a Guard; the zero value is useful.
type Options struct {
	// DenySize is how many refusals, and receipts that passed, are remembered in this process together; negative for none. Defaults to
	// 100000, about 50 MB.
	DenySize int
	// DenyFor is how long a refusal is remembered at most: what an operator lifts, and an override that an operator sets at run
	// time, takes effect within that everywhere. Defaults to 10s.
	DenyFor time.Duration
	// BreakAfter is how many calls a node of Redis loses at least before it is left alone: then it is once half of the calls of the last
	// second were lost. Defaults to 5.
	BreakAfter int
	// BreakFor is how long a node is left alone before one call tries again. Defaults to 1s.
	BreakFor time.Duration
	// MostUnderway is how many requests wait for Redis at once, those included that have gone on without an answer; beyond it the failure contract
	// answers at once. Defaults to 4096.
	MostUnderway int
	// MostWaiting is how many requests wait in Guard.Wait at once; one more gets its refusal. Defaults to 1024.
	MostWaiting int
	// MostWait is how long a request waits in Guard.Wait at most: one whose turn comes later gets its refusal at once. Defaults to 1m.
	MostWait time.Duration
	// LocalBytes is how much heap the subjects of limits with on_failure: local take in this process, beside 5 MiB for their engine. The engine
	// forgets the subjects that it decided about least recently. Defaults to 64 MiB.
	LocalBytes int64
	// NoSharing gives every call a round trip of its own, see fcall.Options. Defaults to sharing.
	NoSharing bool
	// Channel is the channel of the libraries that are called, see fcall.Options. Defaults to the libraries themselves.
	Channel string
	// NoHeal keeps the guard from loading libraries that a server lacks, see fcall.Options. Defaults to healing.
	NoHeal bool
	// NoOverrides leaves out the overrides that operators set at run time (rlfunc override), and the goroutine that asks Redis for them, from
	// the first decision until Close. Defaults to following them.
	NoOverrides bool
	// Hooks hear of decisions, failures and reloads. Defaults to none: then failures, breaker changes and policies that were not taken go to
	// slog's default logger, each at most once a second.
	Hooks []Hooks
	// Shadow is another policy that decides beside this one and refuses nobody. Defaults to none.
	Shadow *Shadow

	localClock  embedded.Clock
	overridesOf string // the namespace whose overrides are followed; "" for the policy's
}

// A Guard decides about requests. It is safe for concurrent use.
type Guard struct {
	rdb       redis.UniversalClient
	options   Options
	plans     atomic.Pointer[plan.Plans]
	asker     ask.Asker
	function  string                          // that answers, as the server names it
	split     atomic.Bool                     // keys of several subjects are on several servers: each part is a call of its own
	local     atomic.Pointer[genguard.Client] // nil until a policy needs it
	costs     *cost.Client
	denied    *denied.Cache[*Decision]
	breakers  fallback.Breakers
	waiting   atomic.Int64
	overrides override.Watch
	hooks     hooks
	log       logger
	shadow    *follower
	work      sync.WaitGroup // behind requests
	reload    sync.Mutex
	checks    []func(*policy.Policy) error // guarded by reload
}

// New returns a guard for a policy. It sends nothing: Redis may be down, and is asked when the first request comes. Close frees what it
// takes.
func New(rdb redis.UniversalClient, p *policy.Policy, o Options) (*Guard, error) {
	if rdb == nil || p == nil {
		return nil, errors.New("new guard: client and policy must not be nil")
	}
	o = o.complete()
	g := &Guard{rdb: rdb, options: o, hooks: o.Hooks}
	complete, err := p.Complete()
	if err != nil {
		return nil, fmt.Errorf("new guard: %w", err)
	}
	clients := fcall.Options{Namespace: complete.Namespace, Channel: o.Channel, NoHeal: o.NoHeal, NoSharing: o.NoSharing}
	client, err := genguard.New(rdb, clients)
	if err != nil {
		return nil, fmt.Errorf("new guard: %w", err)
	}
	if g.costs, err = cost.New(rdb, clients); err != nil {
		return nil, fmt.Errorf("new guard: %w", err)
	}
	if !o.NoOverrides {
		clients.Namespace = cmp.Or(o.overridesOf, complete.Namespace)
		if err := g.overrides.Follow(rdb, clients, o.DenyFor/2); err != nil {
			return nil, fmt.Errorf("new guard: %w", err)
		}
	}
	g.asker.Backend = ask.Backend{Client: client, Pipeline: rdb.Pipeline}
	g.asker.Most, g.asker.Events = int64(o.MostUnderway), g.events()
	g.function = client.Fcall().Library().ServerName + "_admit"
	_, oneServer := rdb.(*redis.Client)
	g.split.Store(!oneServer)
	g.breakers.After, g.breakers.For, g.breakers.Changed = o.BreakAfter, o.BreakFor, g.breakerChanged
	if o.DenySize > 0 {
		g.denied = denied.New[*Decision](o.DenySize, o.DenyFor)
	}
	if err := g.install(complete); err != nil {
		return nil, fmt.Errorf("new guard: %w", err)
	}
	if o.Shadow != nil {
		if g.shadow, err = newFollower(g, o.Shadow); err != nil {
			return nil, fmt.Errorf("new guard: shadow: %w", err)
		}
	}
	return g, nil
}

func (o Options) complete() Options {
	setDefault(&o.DenySize, 100_000)
	setDefault(&o.DenyFor, 10*time.Second)
	setDefault(&o.BreakAfter, 5)
	setDefault(&o.BreakFor, time.Second)
	setDefault(&o.MostUnderway, 4096)
	setDefault(&o.MostWaiting, 1024)
	setDefault(&o.MostWait, time.Minute)
	setDefault(&o.LocalBytes, 64<<20)
	return o
}

func setDefault[T comparable](value *T, absent T) {
	var zero T
	if *value == zero {
		*value = absent
	}
}

func (g *Guard) events() ask.Events {
	return ask.Events{
		Behind: g.behind,
		GaveBack: func(ctx context.Context, subject string, subjects []string, err error) {
			for _, s := range subjects {
				g.denied.Release(s)
			}
			g.hooks.gaveBack(ctx, subject, err)
		},
		Cancel: func(ctx context.Context, subject, reservation string) {
			_ = g.Cancel(ctx, subject, reservation) // Hooks.Settled reports it
		},
	}
}

func (g *Guard) breakerChanged(node string, open bool) {
	g.hooks.breaker(node, open)
	g.warn(noticeBreaker, "the circuit breaker changed", "node", node, "open", open)
}

// Policy returns the policy that holds now, with its defaults filled in.
func (g *Guard) Policy() *policy.Policy { return g.plans.Load().Policy }

// SetPolicy replaces the policy, from the next request on. A policy that is not valid changes nothing. The namespace can not change:
// what subjects have taken would be forgotten.
func (g *Guard) SetPolicy(p *policy.Policy) error {
	g.reload.Lock()
	defer g.reload.Unlock()
	err := g.setPolicy(p)
	g.reloaded(err)
	return err
}

func (g *Guard) reloaded(err error) {
	g.hooks.reloaded(err)
	if err != nil {
		g.warn(noticeReload, "the policy was not replaced", "error", err)
	}
}

func (g *Guard) setPolicy(p *policy.Policy) error {
	complete, err := p.Complete()
	if err != nil {
		return fmt.Errorf("set policy: %w", err)
	}
	if had := g.Policy().Namespace; complete.Namespace != had {
		return fmt.Errorf("set policy: namespace must stay %s, got %s: what subjects have taken would be forgotten", had, complete.Namespace)
	}
	for _, check := range g.checks {
		if err := check(complete); err != nil {
			return fmt.Errorf("set policy: %w", err)
		}
	}
	if reflect.DeepEqual(complete, g.Policy()) {
		return nil // what is remembered stays
	}
	return g.install(complete)
}

// install takes a complete policy, and starts the engine in this process with the first one that needs it.
func (g *Guard) install(p *policy.Policy) error {
	ps := plan.Compile(p)
	if ps.NeedsLocal() && g.local.Load() == nil {
		local, err := fallback.NewLocal(p.Namespace, g.options.LocalBytes, g.options.localClock)
		if err != nil {
			return err
		}
		g.local.Store(local)
	}
	g.overrides.Install(ps, func() { g.plans.Store(ps) })
	return nil
}

// Require has SetPolicy and Watch refuse a policy that a check refuses, as a middleware does that can not follow it.
func (g *Guard) Require(check func(*policy.Policy) error) {
	g.reload.Lock()
	defer g.reload.Unlock()
	g.checks = append(g.checks, check)
}

// Watch follows a policy's file until the context ends, and replaces the policy when its content changes. A file that is not valid keeps
// the old policy; Hooks.Reloaded is told.
func (g *Guard) Watch(ctx context.Context, path string) error {
	return policy.Watch(ctx, path, func(p *policy.Policy, err error) {
		if err != nil {
			g.reloaded(err)
			return
		}
		_ = g.SetPolicy(p) // Hooks.Reloaded is told
	})
}

// behind works behind a request. Close waits for it.
func (g *Guard) behind(work func()) { g.work.Go(work) }

// Close waits for calls that are on their way and frees what the guard took. The Redis client stays open.
func (g *Guard) Close() error {
	if g.shadow != nil {
		g.shadow.close()
	}
	g.overrides.Close()
	g.work.Wait()
	g.denied.Close()
	return nil
}
