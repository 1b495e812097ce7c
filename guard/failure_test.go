package guard_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/counting"
	"github.com/rlfunc/rlfunc/internal/engines"
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
		"local":  {Name: "minute", Limit: 10, Window: time.Minute, OnFailure: policy.Local, Share: 0.3},
	}
}

func TestDecide_appliesEachFailureMode(t *testing.T) {
	for _, dead := range []struct {
		name    string
		timeout time.Duration
		open    func(*testing.T) redis.UniversalClient
	}{
		{"refused connections", 20 * time.Millisecond, func(t *testing.T) redis.UniversalClient { return client(t, closedPort(t)) }},
		{"a silent server", 20 * time.Millisecond, func(t *testing.T) redis.UniversalClient { return client(t, silentServer(t)) }},
		{"a cluster of nodes without a name", 0, func(t *testing.T) redis.UniversalClient { return namelessCluster(t) }},
		{"an answer of nothing", 0, func(t *testing.T) redis.UniversalClient { return client(t, answering(t, "fcall", "$-1\r\n")) }},
		{"an answer that is no reply of the function", 0, func(t *testing.T) redis.UniversalClient { return client(t, answering(t, "fcall", "+OK\r\n")) }},
		{"an error of a proxy", 0, func(t *testing.T) redis.UniversalClient {
			return client(t, answering(t, "fcall", "-ERR upstream failure\r\n"))
		}},
		{"a client that was closed", 0, func(t *testing.T) redis.UniversalClient {
			rdb, _ := inProcess(t)
			_ = rdb.Close()
			return rdb
		}},
	} {
		t.Run(dead.name, func(t *testing.T) {
			for contract, limit := range contracts() {
				p := chat(limit)
				p.Timeout = dead.timeout
				g := newGuard(t, dead.open(t), p, guard.Options{BreakFor: time.Hour})
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
				want := map[string][3]int{"open": {10, 0, 0}, "closed": {0, 0, 10}, "local": {3, 7, 0}}[contract]
				if got != want {
					t.Errorf("%s: allowed, refused and failed are %v, want %v", contract, got, want)
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

func TestDecide_returnsInTimeIfTheServerIsSilent(t *testing.T) {
	p := chat(contracts()["open"])
	p.Timeout = 50 * time.Millisecond
	rdb := redis.NewClient(&redis.Options{Addr: silentServer(t), ReadTimeout: time.Minute, PoolTimeout: time.Minute, MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	g := newGuard(t, rdb, p, guard.Options{BreakAfter: 1000})
	began := time.Now()
	var all sync.WaitGroup
	for range 50 { // more than the pool has connections
		all.Go(func() { decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}) })
	}
	all.Wait()
	// go-redis alone would take its ReadTimeout, a minute.
	if took := time.Since(began); took < 50*time.Millisecond || took > 20*time.Second {
		t.Errorf("50 decisions with a deadline of 50ms took %v", took)
	}
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
	g := newGuard(t, client(t, addr), p, guard.Options{BreakAfter: 3, BreakFor: 20 * time.Millisecond, Hooks: []guard.Hooks{{
		Breaker: func(_ string, open bool) { mu.Lock(); changes = append(changes, open); mu.Unlock() },
	}}})
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

// slow holds the answers of a server back until its gate opens.
type slow struct{ gate chan struct{} }

func (s slow) DialHook(next redis.DialHook) redis.DialHook { return next }
func (s slow) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		s.wait(cmd)
		return err
	}
}

func (s slow) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		s.wait(cmds...)
		return err
	}
}

func (s slow) wait(cmds ...redis.Cmder) {
	if hasCall(cmds...) {
		<-s.gate
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

func TestDecide_unreadableStateIsAnError(t *testing.T) {
	rdb, _ := inProcess(t)
	if err := rdb.RPush(t.Context(), "guard:{ip=ada}:sliding_log:chat/minute", "no time").Err(); err != nil {
		t.Fatal(err)
	}
	g := newGuard(t, rdb, chat(contracts()["open"]), guard.Options{})
	_, err := g.Decide(t.Context(), guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
	if !errors.Is(err, fcall.ErrState) {
		t.Errorf("a limit whose key is unreadable: %v", err)
	}
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

// A challenge that is required and missing needs no Redis to be refused.
func TestDecide_missingChallengeIsRefusedWithoutRedis(t *testing.T) {
	p := chat(policy.Limit{Name: "minute", Limit: 5, Window: time.Minute})
	p.Endpoints[0].Challenge = &policy.Challenge{Required: true, OnFailure: policy.Open}
	g := newGuard(t, client(t, closedPort(t)), p, guard.Options{})
	if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}); d.Allowed || d.Reason != guard.ReasonChallenge || d.Challenge != "absent" {
		t.Errorf("without one: %+v", d)
	}
	if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Challenge: "c"}); !d.Allowed {
		t.Errorf("with one, failure mode open: %+v", d)
	}
}

// A server that has FCALL and refuses FUNCTION runs the same Lua as scripts.
func TestDecide_serverWithoutLoads(t *testing.T) {
	member := engines.OnPath(t).Start(t, "--rename-command", "FUNCTION", "")
	for name, o := range map[string]guard.Options{"auto-load": {}, "no auto-load": {NoAutoLoad: true}} {
		for _, split := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/split %v", name, split), func(t *testing.T) {
				rdb := redis.UniversalClient(client(t, member.Addr))
				if split {
					rdb = manySlots{rdb.(*redis.Client)}
				}
				p := chat(policy.Limit{Name: "minute", Limit: 2, Window: time.Hour, OnFailure: policy.Closed})
				p.Limits = byAll(policy.Limit{Name: "all", Limit: 100, Window: time.Hour, OnFailure: policy.Closed})
				g := newGuard(t, rdb, p, o)
				for i, want := range []bool{true, true, false} {
					if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=" + t.Name()}}); d.Allowed != want {
						t.Errorf("request %d: allowed %v, want %v", i+1, d.Allowed, want)
					}
				}
			})
		}
	}
}
