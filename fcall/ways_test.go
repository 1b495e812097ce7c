package fcall_test

import (
	"context"
	"errors"
	"runtime"
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

// inQueues makes senders send the calls of a client, as under load.
func inQueues(t *testing.T, c redis.UniversalClient) fcall.Caller {
	t.Helper()
	transport := fcall.Queues(c)
	t.Cleanup(func() {
		_ = c.Close()
		runtime.KeepAlive(transport)
	})
	return c
}

var ways = []way{
	{"client", func(t *testing.T, addr string) fcall.Caller {
		c := standalone(addr)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}},
	{"conn", func(t *testing.T, addr string) fcall.Caller {
		c := standalone(addr)
		t.Cleanup(func() { _ = c.Close() })
		return c.Conn()
	}},
	{"cluster", func(t *testing.T, addr string) fcall.Caller {
		c := cluster(addr)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}},
	{"ring", func(t *testing.T, addr string) fcall.Caller {
		c := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": addr}, ReadTimeout: readTimeout})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}},
	{"queues", func(t *testing.T, addr string) fcall.Caller { return inQueues(t, standalone(addr)) }},
	{"queues cluster", func(t *testing.T, addr string) fcall.Caller { return inQueues(t, cluster(addr)) }},
	{"pipeline", func(t *testing.T, addr string) fcall.Caller {
		c := standalone(addr)
		t.Cleanup(func() { _ = c.Close() })
		return &piped{c, c.Pipeline}
	}},
	{"pipeline cluster", func(t *testing.T, addr string) fcall.Caller {
		c := cluster(addr)
		t.Cleanup(func() { _ = c.Close() })
		return &piped{c, c.Pipeline}
	}},
	{"transaction", func(t *testing.T, addr string) fcall.Caller {
		c := standalone(addr)
		t.Cleanup(func() { _ = c.Close() })
		return &piped{c, c.TxPipeline}
	}},
}

// piped makes a test's call go through Queue and Exec.
type piped struct {
	fcall.Caller
	open func() redis.Pipeliner
}

// direct returns the Caller behind a pipeline.
func direct(caller fcall.Caller) fcall.Caller {
	if p, ok := caller.(*piped); ok {
		return p.Caller
	}
	return caller
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
	n := r.Count("n")
	return n, r.Close()
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
