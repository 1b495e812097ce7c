package fcall_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/counting"
)

// A gate is a hook that blocks all calls until it is opened, and counts the calls of each round trip.
type gate struct {
	open    chan struct{}
	waiting atomic.Int32
	alone   atomic.Int32
	shared  atomic.Int32
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if isCall(cmd) {
			g.alone.Add(1)
			g.wait()
		}
		return next(ctx, cmd)
	}
}

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if isCall(cmds[0]) { // not what opens a connection
			g.shared.Add(int32(len(cmds)))
			g.wait()
		}
		return next(ctx, cmds)
	}
}

func isCall(cmd redis.Cmder) bool { return cmd.Name() == "fcall" }

func (g *gate) wait() {
	g.waiting.Add(1)
	<-g.open
}

// sharers are clients over which calls share round trips.
func sharers(t *testing.T, plain, clustered string) map[string]redis.UniversalClient {
	t.Helper()
	return map[string]redis.UniversalClient{"client": closing(t, standalone(plain)), "cluster": closing(t, cluster(clustered))}
}

// A few concurrent calls are sent alone. Further calls share the next round trip.
func TestCall_sharesRoundTrips(t *testing.T) {
	t.Parallel()
	plain, clustered := servers(t)
	for name, rdb := range sharers(t, plain, clustered) {
		for _, o := range []fcall.Options{{}, {NoSharing: true}} {
			t.Run(name, func(t *testing.T) {
				const few, more = 4, 32
				c := newClient(t, rdb, o)
				if _, err := hit(c, "k"); err != nil {
					t.Fatal(err)
				}
				g := &gate{open: make(chan struct{})}
				release := sync.OnceFunc(func() { close(g.open) })
				defer release() // the hook stays
				rdb.AddHook(g)
				var wg sync.WaitGroup
				call := func(n int) {
					for range n {
						wg.Go(func() {
							if _, err := hit(c, "k"); err != nil {
								t.Error(err)
							}
						})
					}
				}
				call(few)
				eventually(t, "few calls are under way", func() error { return unless(g.waiting.Load() == few) })
				call(more)
				under := int32(few)
				if o.NoSharing {
					under = few + more
				}
				eventually(t, "the others wait", func() error {
					return unless(g.waiting.Load() >= under && fcall.InFlight(c) >= few+more)
				})
				release()
				wg.Wait()
				if g.alone.Load()+g.shared.Load() != few+more || (g.shared.Load() == 0) != o.NoSharing {
					t.Errorf("NoSharing %v: of %d calls %d went alone and %d together", o.NoSharing, few+more, g.alone.Load(), g.shared.Load())
				}
			})
		}
	}
}

// A caller that leaves says nothing about the server, so the calls of others go on sharing round trips.
func TestCall_sharesRoundTripsAfterACallerLeft(t *testing.T) {
	t.Parallel()
	plain, clustered := servers(t)
	for name, backend := range map[string]string{"client": plain, "cluster": clustered} {
		t.Run(name, func(t *testing.T) {
			p := counting.NewProxy(t, backend)
			rdb := sharers(t, p.Addr, p.Addr)[name]
			c := newClient(t, rdb, fcall.Options{})
			if _, err := hit(c, "k"); err != nil {
				t.Fatal(err)
			}
			p.Mode.Store(counting.SlowReply)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for p.Seen.Load() < 2 {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			if _, err := c.Call(ctx, countFunction("hit"), []string{"k"}, nil); !errors.Is(err, context.Canceled) {
				t.Fatalf("error is %v", err)
			}
			p.Mode.Store(counting.Pass)
			g := &gate{open: make(chan struct{})}
			release := sync.OnceFunc(func() { close(g.open) })
			defer release()
			rdb.AddHook(g)
			const calls = 36
			var wg sync.WaitGroup
			for range calls {
				wg.Go(func() {
					if _, err := hit(c, "k"); err != nil {
						t.Error(err)
					}
				})
			}
			eventually(t, "the calls wait", func() error { return unless(fcall.InFlight(c) >= calls) })
			release()
			wg.Wait()
			if g.shared.Load() == 0 {
				t.Errorf("%d calls went alone", g.alone.Load())
			}
		})
	}
}

func unless(ok bool) error {
	if !ok {
		return errors.New("not yet")
	}
	return nil
}

// A lost reply makes the outcome of a whole round trip unknown. Later calls go in four round trips at once, so the next one affects few.
func TestCall_sharesLessAfterLostReply(t *testing.T) {
	t.Parallel()
	plain, clustered := servers(t)
	for _, w := range ways {
		if w.name != "client" && w.name != "cluster" {
			continue // the others share nothing
		}
		t.Run(w.name, func(t *testing.T) {
			backend := plain
			if w.isCluster() {
				backend = clustered
			}
			p := counting.NewProxy(t, backend)
			c := newClient(t, w.open(t, p.Addr), fcall.Options{})
			if _, err := hit(c, "k"); err != nil {
				t.Fatal(err)
			}
			p.Mode.Store(counting.LoseReply)
			if _, err := hit(c, "k"); !errors.Is(err, fcall.ErrOutcomeUnknown) {
				t.Fatalf("error is %v", err)
			}
			p.Mode.Store(counting.Pass)
			before := p.Seen.Load()
			const callers = 32
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					if _, err := hit(c, "k"); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if got := p.Seen.Load() - before; got < callers/4 { // two round trips at once would take all
				t.Errorf("%d calls shared %d requests", callers, got)
			}
		})
	}
}

// A client has no goroutines without calls, so it needs no Close.
func TestCall_leavesNoGoroutines(t *testing.T) {
	plain, clustered := servers(t)
	for name, rdb := range sharers(t, plain, clustered) {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			before := runtime.NumGoroutine()
			c := newClient(t, rdb, fcall.Options{})
			var wg sync.WaitGroup
			for range 400 {
				wg.Go(func() {
					if _, err := c.Call(ctx, countFunction("hit"), []string{"k"}, nil); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			eventually(t, "no goroutine is left", func() error { return unless(runtime.NumGoroutine() <= before) })
		})
	}
}

// A caller sends its own call if the client ends it in time.
func TestCall_startsNoGoroutine(t *testing.T) {
	plain, clustered := servers(t)
	bounded := map[string]redis.UniversalClient{
		"client":  redis.NewClient(&redis.Options{Addr: plain, ContextTimeoutEnabled: true}),
		"cluster": redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{clustered}, ContextTimeoutEnabled: true}),
	}
	for name, rdb := range bounded {
		t.Cleanup(func() { _ = rdb.Close() })
		c := newClient(t, rdb, fcall.Options{})
		var by []string
		rdb.AddHook(goroutines{&by})
		for _, s := range []struct {
			name string
			ctx  func() (context.Context, context.CancelFunc)
			own  bool
		}{
			{"no end", func() (context.Context, context.CancelFunc) { return context.Background(), func() {} }, true},
			{"a cancel", func() (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) }, true},
			{"a deadline", func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), time.Minute) }, true},
		} {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				by = nil
				for range 2 {
					ctx, cancel := s.ctx()
					if _, err := c.Call(ctx, countFunction("hit"), []string{"k"}, nil); err != nil {
						t.Fatal(err)
					}
					cancel()
				}
				if len(by) != 2 || (by[0] == goroutine()) != s.own {
					t.Errorf("sent by %q, called by %s", by, goroutine())
				}
			})
		}
	}
}

// goroutines is a hook that notes which goroutine sends a call.
type goroutines struct{ by *[]string }

func (g goroutines) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g goroutines) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if isCall(cmd) {
			*g.by = append(*g.by, goroutine())
		}
		return next(ctx, cmd)
	}
}

func (g goroutines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// goroutine returns the number of its goroutine.
func goroutine() string {
	var buf [64]byte
	return strings.Fields(string(buf[:runtime.Stack(buf[:], false)]))[1]
}
