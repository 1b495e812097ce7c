package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	genguard "github.com/rlfunc/rlfunc/gen/guard"

	"github.com/rlfunc/rlfunc/guard/internal/refusals"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/reload"
)

// Options configures a Guard. The zero value is useful.
type Options struct {
	// CacheSize is the most cached refusals and admitted receipts in this process, together. A negative size turns the cache off. Defaults
	// to 100000 (about 50 MB).
	CacheSize int
	// CacheTTL is the longest time that this process answers from a cached refusal. It may refuse for that long after an operator lifts a
	// block or sets an override. Defaults to 10 s.
	CacheTTL time.Duration
	// BreakAfter is the fewest lost calls that open a node's circuit breaker. It opens if they are also at least half of the calls of the
	// last second. Defaults to 5.
	BreakAfter int
	// BreakFor is how long a circuit breaker stays open before a trial call. Defaults to 1 s.
	BreakFor time.Duration
	// MaxInFlight is the most requests that wait for Redis. Failure modes decide any further request at once. Defaults to 4096.
	MaxInFlight int
	// MaxWaiting is the most requests that block in Guard.Wait at once. Wait returns the refusal of any further request. One subject gets
	// a place only while it has fewer than are free: at most half of them. Defaults to 1024.
	MaxWaiting int
	// MaxWait is the longest wait in Guard.Wait. A request that would pass later is refused at once. Defaults to 1 minute.
	MaxWait time.Duration
	// LocalBytes is the heap for subjects of limits with on_failure: local in this process, besides 6 MiB for their engine. The engine
	// evicts the least recently used subjects. Defaults to 64 MiB.
	LocalBytes int64
	// NoAutoLoad keeps guard from loading missing libraries; see fcall.Options. Defaults to false.
	NoAutoLoad bool
	// NoOverrides ignores overrides that operators set at run time (rlfunc override). Guard otherwise polls Redis for them in one
	// goroutine, from the first decision until Close. Defaults to false.
	NoOverrides bool
	// Observers get each event. They run on the goroutine of what they observe, so they must not block or change anything. Packages telemetry
	// and report have observers. Defaults to one that logs failures, breaker changes and policies to slog's default logger, each
	// message at most once a second.
	Observers []Observer
	// Processes returns the number of processes that share the policy, or 0 if it is unknown: failure mode local admits an even part of a limit if
	// that is more than the process's share. Defaults to unknown.
	Processes func() int

	localClock embedded.Clock
}

// Library is what guard calls in Redis. It loads missing functions itself; loader.Ensure does it before the first request.
var Library = genguard.Library

// A Guard decides whether requests may pass. It is safe for concurrent use.
type Guard struct {
	rdb         fcall.Caller
	options     Options
	snapshot    atomic.Pointer[snapshot]
	asker       asker
	split       atomic.Bool                     // keys may be on several servers, so each subject needs its own call
	local       atomic.Pointer[genguard.Client] // nil until a policy needs it
	localPlaces keeper                          // in the local engine
	blocks      *abuse.Client
	refusals    *refusals.Cache[*refusal]
	waiting     waiters
	places      keeper // in Redis
	overrides   overrideWatch
	clock       func() time.Time // finds the periods of quotas
	log         logger
	work        sync.WaitGroup // background work that Close waits for
	reload      sync.Mutex
	compilers   []compiler // guarded by reload
	rejected    bool       // the last policy; guarded by reload
}

// New returns a guard for a policy. It sends nothing, so a service can start while Redis is down. The caller must call Close.
//
// rdb is a *redis.Client or *redis.ClusterClient, or an adapter of fcall/adapter. With an *embedded.Server, all work is done before a
// method returns, and periods of quotas follow the server's clock.
func New(rdb fcall.Caller, p *policy.Policy, o Options) (*Guard, error) {
	if rdb == nil || p == nil {
		return nil, errors.New("new guard: client and policy must not be nil")
	}
	o = o.complete()
	g := &Guard{rdb: rdb, options: o, clock: time.Now}
	if o.localClock != nil {
		g.clock = o.localClock.Now
	}
	complete, err := p.Complete()
	if err != nil {
		return nil, fmt.Errorf("new guard: %w", err)
	}
	clients := fcall.Options{Namespace: complete.Namespace, NoAutoLoad: o.NoAutoLoad}
	client, err := genguard.New(rdb, clients)
	if err != nil {
		return nil, fmt.Errorf("new guard: %w", err)
	}
	if g.blocks, err = abuse.New(rdb, clients); err != nil {
		return nil, fmt.Errorf("new guard: %w", err)
	}
	if !o.NoOverrides {
		if err := g.overrides.follow(rdb, clients, o.CacheTTL/2); err != nil {
			return nil, fmt.Errorf("new guard: %w", err)
		}
	}
	g.asker.client, g.asker.maxInFlight, g.asker.background = client, int64(o.MaxInFlight), g.background
	if server, ok := rdb.(*embedded.Server); ok {
		g.asker.inline, g.clock = true, server.Now
	}
	g.startPlaces()
	g.split.Store(splits(rdb))
	g.asker.breakers = breakers{minLost: o.BreakAfter, openFor: o.BreakFor, onChange: g.breakerChanged}
	if o.CacheSize > 0 {
		g.refusals = refusals.New[*refusal](o.CacheSize, o.CacheTTL)
	}
	if err := g.install(complete); err != nil {
		return nil, fmt.Errorf("new guard: %w", err)
	}
	if !endsAtDeadlines(rdb) {
		slog.Warn("guard: set ContextTimeoutEnabled in go-redis' options: without it each call is handed to another goroutine, which takes a lone request " +
			"20 to 40 us, and a call that Redis does not answer goes on after its request")
	}
	return g, nil
}

// endsAtDeadlines reports whether the client ends a command at its context's deadline, as far as that can be known.
func endsAtDeadlines(rdb fcall.Caller) bool {
	switch c := rdb.(type) {
	case *redis.Client:
		return c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return c.Options().ContextTimeoutEnabled
	}
	return true
}

// splits reports whether keys may be on several servers.
func splits(rdb fcall.Caller) bool {
	switch c := rdb.(type) {
	case *redis.Client, *embedded.Server:
		return false
	case interface{ Clustered() bool }: // an adapter
		return c.Clustered()
	}
	return true
}

func (o Options) complete() Options {
	setDefault(&o.CacheSize, 100_000)
	setDefault(&o.CacheTTL, 10*time.Second)
	setDefault(&o.BreakAfter, 5)
	setDefault(&o.BreakFor, time.Second)
	setDefault(&o.MaxInFlight, 4096)
	setDefault(&o.MaxWaiting, 1024)
	setDefault(&o.MaxWait, time.Minute)
	setDefault(&o.LocalBytes, 64<<20)
	return o
}

func setDefault[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}

func (g *Guard) breakerChanged(node string, open bool) {
	g.observe(context.Background(), BreakerChanged{Node: node, Open: open})
}

// Options returns the options with their defaults filled in.
func (g *Guard) Options() Options { return g.options }

// Policy returns the current policy with its defaults filled in.
func (g *Guard) Policy() *policy.Policy { return g.snapshot.Load().policy }

// SetPolicy replaces the policy from the next request on. If p is not valid, it returns an error and keeps the old policy. The namespace
// cannot change, because all counts would be lost.
func (g *Guard) SetPolicy(p *policy.Policy) error {
	g.reload.Lock()
	defer g.reload.Unlock()
	had := g.Policy()
	err := g.setPolicy(p)
	g.reloaded(err, g.Policy() != had)
	return err
}

// reloaded reports a reload, unless it changed nothing: Watch begins with the file that the service has loaded.
func (g *Guard) reloaded(err error, changed bool) {
	if err == nil && !changed && !g.rejected {
		return
	}
	g.rejected = err != nil
	g.observe(context.Background(), Reloaded{err})
}

func (g *Guard) setPolicy(p *policy.Policy) error {
	complete, err := p.Complete()
	if err != nil {
		return fmt.Errorf("set policy: %w", err)
	}
	if had := g.Policy().Namespace; complete.Namespace != had {
		return fmt.Errorf("set policy: cannot change namespace from %s to %s: all counts would be lost", had, complete.Namespace)
	}
	if reflect.DeepEqual(complete, g.Policy()) {
		return nil // keeps the cached refusals
	}
	if err := g.install(complete); err != nil {
		return fmt.Errorf("set policy: %w", err)
	}
	return nil
}

// install activates a complete policy. It starts the local engine for the first policy that needs one.
func (g *Guard) install(p *policy.Policy) error {
	snapshot := compile(p, g.clock, g.startBatches(p.Timeout))
	for _, compile := range g.compilers {
		part, err := compile(p, snapshot.endpoints)
		if err != nil {
			snapshot.closeParts()
			return err
		}
		snapshot.parts = append(snapshot.parts, part)
	}
	if snapshot.needsLocal() && g.local.Load() == nil {
		local, err := newLocal(p.Namespace, g.options.LocalBytes, g.options.localClock)
		if err != nil {
			snapshot.closeParts()
			return err
		}
		g.local.Store(local)
	}
	old := g.snapshot.Load()
	g.overrides.install(snapshot, func() { g.snapshot.Store(snapshot) })
	if old != nil {
		g.background(old.closeBatches)
		g.background(old.closeParts)
	}
	return nil
}

// A compiler makes a part of each snapshot.
type compiler func(*policy.Policy, []*Endpoint) (any, error)

// Compile calls compile with the policy and its endpoints now, and with each further policy before it takes effect. If compile fails then, SetPolicy
// and Watch keep the old policy. current returns what compile made of the policy in effect; if that is an io.Closer, it is closed when another
// policy replaces it and by Close. It is for middleware: the policy that finds a request's endpoint also decides the request.
func Compile[T any](g *Guard, compile func(*policy.Policy, []*Endpoint) (T, error)) (current func() T, err error) {
	if g == nil {
		return nil, errors.New("guard must not be nil")
	}
	g.reload.Lock()
	defer g.reload.Unlock()
	with := *g.snapshot.Load()
	part, err := compile(with.policy, with.endpoints)
	if err != nil {
		return nil, err
	}
	i := len(with.parts)
	with.parts = append(slices.Clip(with.parts), part)
	g.snapshot.Store(&with)
	g.compilers = append(g.compilers, func(p *policy.Policy, all []*Endpoint) (any, error) { return compile(p, all) })
	return func() T {
		part, _ := g.snapshot.Load().parts[i].(T)
		return part
	}, nil
}

// Watch reads the policy file before it returns, and then within a second after each change of its content, until ctx ends. If a file is
// not valid, the old policy stays and [Reloaded] has the error. Watch follows files that are renamed over, swapped by symbolic links (as
// in a ConfigMap), or removed and created again.
func (g *Guard) Watch(ctx context.Context, path string) {
	had := g.Policy()
	file := reload.File(path, policy.MaxFileSize+1, func(content []byte) error { // Parse refuses a byte more
		p, err := policy.Parse(path, content)
		if err != nil {
			return err
		}
		g.reload.Lock()
		defer g.reload.Unlock()
		return g.setPolicy(p)
	})
	report := func(_ string, err error) {
		g.reload.Lock()
		defer g.reload.Unlock()
		g.reloaded(err, g.Policy() != had)
		had = g.Policy()
	}
	report(path, file.Load())
	go reload.Follow(ctx, time.Second/2, report, file)()
}

// background runs work outside of the request. Close waits for it.
func (g *Guard) background(work func()) { g.work.Go(g.surviving(work)) }

// surviving returns work that logs a panic: in a goroutine of its own, one request's would end the process.
func (g *Guard) surviving(work func()) func() {
	return func() {
		defer func() {
			if p := recover(); p != nil {
				slog.Error("guard: panic", "panic", p, "stack", string(debug.Stack()))
			}
		}()
		work()
	}
}

// Close waits for calls that are in flight, refunds unused tokens and stops the goroutines of guard and its middleware. Places that requests still have stay until
// their leases end. Requests that wait go on: end their contexts first. It does not close the Redis client.
func (g *Guard) Close() error {
	g.overrides.close()
	g.snapshot.Load().closeBatches()
	g.places.close()
	g.localPlaces.close()
	g.work.Wait()
	g.refusals.Close()
	g.snapshot.Load().closeParts()
	return nil
}
