package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// onPrograms runs a test with the server program on PATH and with those of the images.
func onPrograms(t *testing.T, f func(*testing.T, engines.Program)) {
	t.Helper()
	p := engines.OnPath(t)
	t.Run(p.Name, func(t *testing.T) { f(t, p) })
	for _, p := range engines.Images(t) {
		t.Run(p.Name, func(t *testing.T) { f(t, p) })
	}
}

// onEach runs a test on a server of each program.
func onEach(t *testing.T, f func(*testing.T, *engines.Member)) {
	t.Helper()
	onPrograms(t, func(t *testing.T, p engines.Program) { f(t, p.Start(t, "--enable-debug-command", "yes")) })
}

func do(t *testing.T, m *engines.Member, args ...any) {
	t.Helper()
	if err := m.Client(t).Do(t.Context(), args...).Err(); err != nil {
		t.Fatalf("%v on %s: %v", args, m.Addr, err)
	}
}

// digest is that of all keys and what they hold.
func digest(t *testing.T, m *engines.Member) string {
	t.Helper()
	sum, err := m.Client(t).Do(t.Context(), "DEBUG", "DIGEST").Text()
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// unwritten fails if the server's keys have changed since before.
func unwritten(t *testing.T, m *engines.Member, before string) {
	t.Helper()
	if after := digest(t, m); after != before {
		t.Errorf("calls of which nothing ran have written on %s", m.Addr)
	}
}

// holds fails unless the server holds the libraries, which are as many.
func holds(t *testing.T, m *engines.Member, n int) {
	t.Helper()
	libs, err := m.Client(t).FunctionList(t.Context(), redis.FunctionListQuery{}).Result()
	if err != nil || len(libs) != n {
		t.Errorf("%s holds %d libraries, want %d: %v", m.Addr, len(libs), n, err)
	}
}

// An address is a name that leads to one server and later to another one, as that of a managed service does.
type address struct {
	to atomic.Pointer[engines.Member]
}

func (a *address) load(t *testing.T, m *engines.Member) load {
	t.Helper()
	a.to.Store(m)
	c := redis.NewClient(&redis.Options{
		Addr: "limits", ContextTimeoutEnabled: true, ReadTimeout: unhurried,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", a.to.Load().Addr)
		},
	})
	t.Cleanup(func() { c.Close() })
	return load{clients: withOthers(t, c), deadline: unhurried}
}

func port(m *engines.Member) string {
	_, port, _ := net.SplitHostPort(m.Addr)
	return port
}

// looks fails unless a function that only looks answers about a subject of the traffic. A cost of 0 looks as well, by functions that may write.
func (tr *traffic) looks(t *testing.T) {
	t.Helper()
	if _, err := budgets.held(t.Context(), tr.services[0], "user0"); err != nil {
		t.Error(fmt.Errorf("look at %s: %w", budgets.name, err))
	}
}

func TestMain(m *testing.M) { engines.Main(m) }

// A mode is one of the ways in which users call. The traffic calls in all of them at the same time.
type mode string

const (
	plain    mode = "plain"
	unshared mode = "unshared"
	queued   mode = "queued"
)

// modesOf are the modes in which a client can be used.
func modesOf(client redis.UniversalClient) []mode {
	bounded := true // else the Exec of a pipeline would end with go-redis' own timeouts
	switch c := client.(type) {
	case *redis.Client:
		bounded = c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		bounded = c.Options().ContextTimeoutEnabled
	}
	if !bounded {
		return []mode{plain, unshared}
	}
	return []mode{plain, unshared, queued}
}

// withOthers adds to a client of one server the other kinds of client of that server.
func withOthers(t testing.TB, c *redis.Client) []redis.UniversalClient {
	t.Helper()
	return []redis.UniversalClient{c, ringOf(t, c)}
}

// ringOf is a ring of the one server that a client calls. It never takes that for down, which a server that is busy for longer than three
// heartbeats would be: fcall does not know what a ring says then, and its calls would have an unknown outcome.
func ringOf(t testing.TB, c *redis.Client) *redis.Ring {
	t.Helper()
	o := c.Options()
	ring := redis.NewRing(&redis.RingOptions{
		HeartbeatFn: func(context.Context, *redis.Client) bool { return true },
		Addrs:       map[string]string{"one": o.Addr}, ContextTimeoutEnabled: true, Dialer: o.Dialer, Username: o.Username, Password: o.Password,
	})
	t.Cleanup(func() { ring.Close() })
	return ring
}

// ask makes a call in the service's mode. Of a call that was queued, and of which nothing ran, its caller makes one by itself.
func ask[P, R any, Q interface{ Result() (R, error) }](ctx context.Context, s *service, p P, call func(context.Context, P) (R, error), queue func(context.Context, redis.Pipeliner, P) Q) (R, error) {
	if s.mode != queued {
		return call(ctx, p)
	}
	pipe := s.client.Pipeline()
	pending := queue(ctx, pipe, p)
	_, _ = pipe.Exec(ctx)
	r, err := pending.Result()
	if errors.Is(err, fcall.ErrUnavailable) || errors.Is(err, fcall.ErrNotLoaded) {
		return call(ctx, p)
	}
	return r, err
}
