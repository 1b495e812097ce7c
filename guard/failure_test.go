package guard_test

import (
	"context"
	"errors"
	"math"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/counting"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// closedPort returns an address where nothing listens. A free port could become that of another test's server.
func closedPort(*testing.T) string { return "127.0.0.1:1" }

// silentServer returns the address of a server that accepts connections and never answers.
func silentServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return l.Addr().String()
}

func client(t *testing.T, addr string) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr, DialTimeout: time.Second, ReadTimeout: time.Second, PoolTimeout: time.Second, DialerRetries: 1, MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func contracts() map[string]policy.Limit {
	return map[string]policy.Limit{
		"open":   {Name: "minute", Limit: 10, Window: time.Minute, OnFailure: policy.Open},
		"closed": {Name: "minute", Limit: 10, Window: time.Minute, OnFailure: policy.Closed},
		"local":  {Name: "minute", Limit: 12, Window: time.Minute, OnFailure: policy.Local},
	}
}

func TestDecide_appliesEachFailureMode(t *testing.T) {
	replying := func(reply string) func(*testing.T) redis.UniversalClient {
		return func(t *testing.T) redis.UniversalClient { return client(t, answering(t, "fcall", reply+"\r\n")) }
	}
	const brief = 20 * time.Millisecond
	for _, dead := range []struct {
		name    string
		timeout time.Duration
		opens   bool // the circuit breaker; not if the server answers
		open    func(*testing.T) redis.UniversalClient
	}{
		{"refused connections", brief, true, func(t *testing.T) redis.UniversalClient { return client(t, closedPort(t)) }},
		{"a silent server", brief, true, func(t *testing.T) redis.UniversalClient { return client(t, silentServer(t)) }},
		{"a cluster of nodes without a name", 0, true, func(t *testing.T) redis.UniversalClient { return namelessCluster(t) }},
		{"an answer of nothing", 0, false, replying("$-1")},
		{"an answer that is no reply of the function", 0, false, replying("+OK")},
		{"an error of a proxy", 0, true, replying("-ERR upstream failure")},
		{"no memory", 0, false, replying("-OOM command not allowed when used memory > 'maxmemory'.")},
		{"no permission", 0, false, replying("-NOPERM this user has no permissions to run the 'fcall' command")},
		{"a function that fails", 0, false, replying("-ERR user_function:1: attempt to index a nil value script: guard_v1_admit, on @user_function:1.")},
		{"a client that was closed", 0, true, func(t *testing.T) redis.UniversalClient {
			rdb, _ := inProcess(t)
			_ = rdb.Close()
			return rdb
		}},
	} {
		t.Run(dead.name, func(t *testing.T) {
			for contract, limit := range contracts() {
				p := chat(limit)
				p.Timeout = dead.timeout
				opened := false
				g := newGuard(t, dead.open(t), p, guard.Options{BreakFor: time.Hour, Observers: on(func(guard.BreakerChanged) { opened = true })})
				allowed, refused, failed := 0, 0, 0
				for range 10 {
					d, err := g.Decide(context.Background(), guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
					switch {
					case errors.Is(err, guard.ErrUnavailable):
						failed++
					case err != nil:
						t.Fatal(err)
					case d.Allowed:
						allowed++
						if d.Fallback != guard.Fallback(contract) || d.Cause == nil {
							t.Errorf("%s: fallback %q, cause %v", contract, d.Fallback, d.Cause)
						}
					default:
						refused++
					}
				}
				got := [3]int{allowed, refused, failed}
				want := map[string][3]int{"open": {10, 0, 0}, "closed": {0, 0, 10}, "local": {3, 7, 0}}[contract] // a quarter of 12
				if got != want {
					t.Errorf("%s: allowed, refused and failed are %v, want %v", contract, got, want)
				}
				if opened != dead.opens {
					t.Errorf("%s: the breaker opened: %v, want %v", contract, opened, dead.opens)
				}
			}
		})
	}
}

// answering returns the address of a server that always gives the same answer to a command.
func answering(t *testing.T, command, answer string) string {
	t.Helper()
	return counting.NewServer(t, func(words []string) string {
		if strings.EqualFold(words[0], command) {
			return answer
		}
		return "+OK\r\n"
	})
}

// noName is the list of a cluster's nodes with cluster-preferred-endpoint-type unknown-endpoint, which go-redis cannot read: it
// returns redis.Nil for every call and sends none.
const noName = "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$-1\r\n:7000\r\n$40\r\n07c37dfeb235213a872192d90877d0cd55635b91\r\n"

func namelessCluster(t *testing.T) *redis.ClusterClient {
	t.Helper()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{answering(t, "cluster", noName)}})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func TestDecide_breakerOpensAndClosesAgain(t *testing.T) {
	clock := embedded.NewManualClock(moment)
	server := embedded.New(embedded.Options{Clock: clock})
	t.Cleanup(func() { _ = server.Close() })
	addr := engines.FreeAddr(t)
	var mu sync.Mutex
	var changes []bool
	p := chat(contracts()["open"])
	p.Timeout = time.Second
	g := newGuard(t, client(t, addr), p, guard.Options{BreakAfter: 3, BreakFor: 20 * time.Millisecond, Observers: on(func(e guard.BreakerChanged) {
		mu.Lock()
		changes = append(changes, e.Open)
		mu.Unlock()
	})})
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}
	for range 3 {
		decide(t, g, r)
	}
	if _, err := server.Listen(addr); err != nil {
		t.Fatal(err)
	}
	// The guard started without Redis, and the server has no library yet.
	for deadline := time.Now().Add(10 * time.Second); decide(t, g, r).Fallback != guard.FallbackNone; {
		if time.Now().After(deadline) {
			t.Fatal("guard does not call Redis again")
		}
		time.Sleep(time.Millisecond)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(changes) < 2 || !changes[0] || changes[len(changes)-1] {
		t.Errorf("the breaker opened and closed as %v", changes)
	}
}

// A hook comes between guard and Redis: it gets the commands of a round trip, and what sends them.
type hook func(ctx context.Context, cmds []redis.Cmder, send func([]redis.Cmder) error) error

func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h(ctx, []redis.Cmder{cmd}, func(cmds []redis.Cmder) error { return next(ctx, cmds[0]) })
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return h(ctx, cmds, func(cmds []redis.Cmder) error { return next(ctx, cmds) })
	}
}

// slow holds the answers of a server back until its gate opens. It tells of each call that is about to be sent, if somebody listens.
func slow(gate, sent chan struct{}) hook {
	return func(_ context.Context, cmds []redis.Cmder, send func([]redis.Cmder) error) error {
		if !hasCall(cmds...) {
			return send(cmds)
		}
		select {
		case sent <- struct{}{}:
		default:
		}
		err := send(cmds)
		<-gate
		return err
	}
}

// hasCall reports whether these commands are not only the handshake of a connection, without which no call is sent.
func hasCall(cmds ...redis.Cmder) bool {
	return slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return cmd.Name() == "fcall" })
}

// load makes the server load the libraries, because a call that finds none runs nothing.
func load(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	decide(t, newGuard(t, rdb, budgeted(), guard.Options{}), guard.Request{Endpoint: "chat", Subjects: []string{"ip=first"}})
}

func TestDecide_returnsTheCallersDeadlineError(t *testing.T) {
	p := chat(contracts()["open"])
	g := newGuard(t, client(t, silentServer(t)), p, guard.Options{BreakAfter: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	for range 3 { // they do not count as lost
		_, err := g.Decide(ctx, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, guard.ErrUnavailable) {
			t.Errorf("after the caller's deadline: %v", err)
		}
	}
}

// alone returns a guard that decides everything by failure mode local, with little memory.
func alone(t *testing.T, p *policy.Policy, bytes int64) *guard.Guard {
	t.Helper()
	o := guard.Options{BreakAfter: 1, BreakFor: time.Hour, LocalBytes: bytes}
	g := newGuard(t, client(t, closedPort(t)), p, o.WithLocalClock(embedded.NewManualClock(moment)))
	t.Cleanup(func() { ended = append(ended, weak.Make(g)) })
	return g
}

// ended are the guards that earlier tests had alone.
var ended []weak.Pointer[guard.Guard]

func localPolicies() map[string]*policy.Policy {
	limit := func(kind policy.Kind) *policy.Policy {
		return chat(policy.Limit{Name: "hour", Kind: kind, Limit: 12, Window: time.Hour, OnFailure: policy.Local})
	}
	all := map[string]*policy.Policy{}
	for _, kind := range []policy.Kind{policy.SlidingLog, policy.SlidingCounter, policy.FixedWindow, policy.GCRA} {
		all[string(kind)] = limit(kind)
	}
	money := budgeted()
	money.Budgets[0].OnFailure = policy.Local
	all["budget"] = money
	abuse := limit(policy.GCRA)
	abuse.Blocks = []policy.Block{{Name: "tries", Attempts: policy.CountAll, Tiers: []policy.Tier{{Threshold: 5, Window: time.Hour, Block: time.Hour}}, OnFailure: policy.Local}}
	abuse.Endpoints[0].Block = "tries"
	all["attempts"] = abuse
	return all
}

func TestDecide_localEvictsTheLeastRecentlyUsed(t *testing.T) {
	for name, p := range localPolicies() {
		t.Run(name, func(t *testing.T) {
			g := alone(t, p, 512<<10)
			ask := func(subject string) *guard.Decision {
				return decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{subject}})
			}
			for i := range 4000 {
				if d := ask("ip=" + strconv.Itoa(i)); !d.Allowed {
					t.Fatalf("subject %d at its first request: %+v", i, d)
				}
				if i%100 == 0 {
					if d := ask("ip=ada"); d.Allowed != (i/100 < taken(name)) {
						t.Fatalf("a subject that is used again and again, at its request %d: %+v", i/100+1, d)
					}
				}
			}
			if d := ask("ip=0"); !d.Allowed || left(d) != left(ask("ip=fresh")) {
				t.Errorf("an evicted subject: %+v", d)
			}
		})
	}
}

// taken returns how often a subject may pass.
func taken(name string) int {
	switch name {
	case "budget":
		return 2 // 0.10 of a quarter of 1.00
	}
	return 3
}

func left(d *guard.Decision) int64 {
	if len(d.Budgets) > 0 {
		return int64(d.Budgets[0].Remaining)
	}
	return d.Limits[0].Remaining
}

// TestDecide_localStaysWithinLocalBytes measures the live heap. The engine itself takes 3 MiB, less where it shares its compiled library
// with the engine of an earlier guard, and then the subjects may take less than their bound: 2/3 of it at least.
func TestDecide_localStaysWithinLocalBytes(t *testing.T) {
	onpath.Full(t)
	const bytes, engine = 6 << 20, 3 << 20
	for name, p := range localPolicies() {
		var full int64
		t.Run(name, func(t *testing.T) {
			g := alone(t, p, bytes)
			for i := range 25_000 {
				decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=2001:db8::" + strconv.Itoa(i)}})
			}
			full = heap(t)
			runtime.KeepAlive(g)
		})
		// Not compared with the heap before, where much of the tests before this one may be left.
		if took := full - heap(t); took > bytes+engine || took < bytes*2/3 {
			t.Errorf("%s: %d KiB of heap with %d KiB for subjects", name, took>>10, bytes>>10)
		}
	}
}

// heap returns the live bytes, once the guards of earlier tests are freed and the bytes shrink no more.
func heap(t *testing.T) int64 {
	t.Helper()
	start := time.Now()
	for freed := func(g weak.Pointer[guard.Guard]) bool { return g.Value() == nil }; len(ended) > 0; ended = slices.DeleteFunc(ended, freed) {
		if time.Since(start) > 10*time.Second {
			t.Fatalf("%d guards are still in memory", len(ended))
		}
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	least, same := int64(math.MaxInt64), 0
	for same < 5 {
		runtime.GC()
		runtime.GC() // frees pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		same++
		if live := int64(m.HeapAlloc); live < least-64<<10 {
			least, same = live, 0
		}
		time.Sleep(10 * time.Millisecond)
	}
	return least
}

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
					rdb.AddHook(hook(func(_ context.Context, cmds []redis.Cmder, send func([]redis.Cmder) error) error {
						err := send(cmds)
						if hasCall(cmds...) {
							time.Sleep(5 * time.Millisecond)
						}
						return err
					}))
					p := chat(policy.Limit{Name: "minute", Kind: policy.FixedWindow, Limit: 1e6, Window: time.Minute, OnFailure: policy.Open})
					change(p)
					g := newGuard(t, rdb, p, guard.Options{BreakAfter: 1, CacheSize: -1, Observers: on(func(e guard.BreakerChanged) {
						opened.Store(opened.Load() || e.Open)
					})})
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

// The share is an even part if the number of processes is known and the part is larger.
func TestDecide_localShareIsEvenIfProcessesAreKnown(t *testing.T) {
	for processes, want := range map[int]int{0: 2, 1: 8, 2: 4, 100: 2} {
		g := newGuard(t, client(t, closedPort(t)), chat(policy.Limit{Name: "minute", Limit: 8, Window: time.Minute}), guard.Options{
			Processes: func() int { return processes },
		})
		allowed := 0
		for range 9 {
			if decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}).Allowed {
				allowed++
			}
		}
		if allowed != want {
			t.Errorf("of %d processes one admits %d of 8, want %d", processes, allowed, want)
		}
	}
}

func TestDecide_appliesFailureModesAboveMaxInFlight(t *testing.T) {
	t.Parallel()
	rdb, _ := inProcess(t)
	load(t, rdb)
	gate, sent := make(chan struct{}), make(chan struct{}, 2)
	rdb.AddHook(slow(gate, sent))
	p := chat(contracts()["open"])
	p.Timeout = 10 * time.Second // none ends before the third
	g := newGuard(t, rdb, p, guard.Options{MaxInFlight: 2, NoOverrides: true})
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { decide(t, g, r) })
		<-sent
	}
	if d := decide(t, g, r); !errors.Is(d.Cause, guard.ErrBusy) || d.Fallback != guard.FallbackOpen {
		t.Errorf("the third: %+v", d)
	}
	close(gate)
	all.Wait()
	if d := decide(t, g, r); d.Fallback != guard.FallbackNone {
		t.Errorf("once they are answered: %+v", d)
	}
}
