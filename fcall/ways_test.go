package fcall_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// A way is one of the ways in which a call reaches a server.
type way struct {
	name string
	open func(t *testing.T, addr string) fcall.Caller
}

const readTimeout = 1500 * time.Millisecond

func standalone(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: readTimeout, DialerRetries: 1})
}

func cluster(addr string) *redis.ClusterClient {
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{addr}, ReadTimeout: readTimeout, ClusterSlots: slotsAt(addr),
	})
}

func slotsAt(addr string) func(context.Context) ([]redis.ClusterSlot, error) {
	return func(context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: addr}}}}, nil
	}
}

// closing closes a client with the test.
func closing[C io.Closer](t *testing.T, c C) C {
	t.Cleanup(func() { _ = c.Close() })
	return c
}

var ways = []way{
	{"client", func(t *testing.T, addr string) fcall.Caller { return closing(t, standalone(addr)) }},
	{"conn", func(t *testing.T, addr string) fcall.Caller { return closing(t, standalone(addr)).Conn() }},
	{"cluster", func(t *testing.T, addr string) fcall.Caller { return closing(t, cluster(addr)) }},
	{"pipeline", func(t *testing.T, addr string) fcall.Caller {
		c := closing(t, standalone(addr))
		return &piped{c, c.Pipeline}
	}},
	{"pipeline cluster", func(t *testing.T, addr string) fcall.Caller {
		c := closing(t, cluster(addr))
		return &piped{c, c.Pipeline}
	}},
	{"transaction", func(t *testing.T, addr string) fcall.Caller {
		c := closing(t, standalone(addr))
		return &piped{c, c.TxPipeline}
	}},
}

// piped makes a test's call go through Queue and Exec.
type piped struct {
	fcall.Caller
	open func() redis.Pipeliner
}

// direct returns the client of Redis behind a way.
func direct(caller fcall.Caller) fcall.Caller {
	if p, ok := caller.(*piped); ok {
		return p.Caller
	}
	return caller
}

func newClient(t testing.TB, caller fcall.Caller, o fcall.Options) *fcall.Client {
	t.Helper()
	c, err := fcall.NewClient(direct(caller), countLibrary, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func callOnce(ctx context.Context, c *fcall.Client, caller fcall.Caller, fn *fcall.Function, key string) (int64, error) {
	var r *fcall.Reply
	var err error
	if p, ok := caller.(*piped); ok {
		pipe := p.open()
		pending := c.Queue(ctx, pipe, fn, []string{key}, nil)
		_, _ = pipe.Exec(ctx)
		r, err = pending.Reply()
	} else {
		r, err = c.Call(ctx, fn, []string{key}, nil)
	}
	if err != nil {
		return 0, err
	}
	n := r.Int("n")
	return n, r.Err()
}

func servers(t *testing.T) (plain, clustered string) {
	t.Helper()
	plain, clustered = startRedis(t), startCluster(t)
	loadCount(t, plain)
	loadCount(t, clustered)
	return plain, clustered
}

func (w way) isCluster() bool {
	return strings.Contains(w.name, "cluster")
}

func count(t *testing.T, addr, key string) int {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	n, err := c.Get(context.Background(), key).Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return n
}
