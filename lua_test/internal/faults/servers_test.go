package faults

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

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

// looks fails unless the functions that only look answer about a subject of the traffic.
func (tr *traffic) looks(t *testing.T) {
	t.Helper()
	for _, k := range kinds {
		if k.held == nil {
			continue
		}
		if _, err := k.held(t.Context(), tr.services[0], "user0"); err != nil {
			t.Error(fmt.Errorf("look at %s: %w", k.name, err))
		}
	}
}
