package fcall_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/counting"
)

// A way is one of the ways in which a call reaches a server.
type way struct {
	name string
	open func(t *testing.T, addr string) fcall.Caller
}

const readTimeout = 300 * time.Millisecond

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

// laned makes senders send the calls of a client, as under load.
func laned(t *testing.T, c redis.UniversalClient) fcall.Caller {
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
	{"queues", func(t *testing.T, addr string) fcall.Caller { return laned(t, standalone(addr)) }},
	{"queues cluster", func(t *testing.T, addr string) fcall.Caller { return laned(t, cluster(addr)) }},
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

func TestCall_runsAtMostOnce(t *testing.T) {
	t.Parallel()
	plain, clustered := servers(t)
	steps := []struct {
		name string
		mode int32
		want int // executions on the server
		err  error
	}{
		{"nothing is lost", counting.Pass, 1, nil},
		{"the reply is lost", counting.LoseReply, 1, fcall.ErrOutcomeUnknown},
		{"the reply never comes", counting.HoldReply, 1, fcall.ErrOutcomeUnknown},
		{"the request is lost", counting.CutBefore, 0, fcall.ErrOutcomeUnknown},
	}
	for _, w := range ways {
		for _, s := range steps {
			t.Run(w.name+"/"+s.name, func(t *testing.T) {
				backend := plain
				if w.isCluster() {
					backend = clustered
				}
				p := counting.NewProxy(t, backend)
				p.Mode.Store(s.mode)
				caller := w.open(t, p.Addr)
				c, err := fcall.NewClient(direct(caller), countLibrary, fcall.Options{})
				if err != nil {
					t.Fatal(err)
				}
				key := fcall.Key("fcalltest", fcall.Subject(t.Name()), "n")
				n, err := callOnce(context.Background(), c, caller, countFunction("hit"), key)
				if !errors.Is(err, s.err) {
					t.Errorf("error is %v, want %v", err, s.err)
				}
				if s.err == nil && n != 1 {
					t.Errorf("reply is %d, want 1", n)
				}
				if got := count(t, backend, key); got != s.want {
					t.Errorf("ran %d times on the server, want %d", got, s.want)
				}
				if got := p.Seen.Load(); got != 1 {
					t.Errorf("was sent %d times, want 1", got)
				}
			})
		}
	}
}

// Through the same proxy, go-redis's own command runs several times. This shows that the proxy has an effect.
func TestCall_plainCommandRunsSeveralTimes(t *testing.T) {
	addr := startRedis(t)
	loadCount(t, addr)
	p := counting.NewProxy(t, addr)
	p.Mode.Store(counting.LoseReply)
	c := standalone(p.Addr)
	defer c.Close()
	_ = c.FCall(context.Background(), "fcalltest_v1_hit", []string{"plain"}).Err()
	if got := count(t, addr, "plain"); got < 2 {
		t.Errorf("ran %d times, want several: does go-redis still repeat commands?", got)
	}
}

// A read-only call may be repeated. Without an answer, it has written nothing.
func TestCall_readOnlyIsRepeated(t *testing.T) {
	addr := startRedis(t)
	loadCount(t, addr)
	p := counting.NewProxy(t, addr)
	p.Mode.Store(counting.LoseReply)
	c := standalone(p.Addr)
	defer c.Close()
	fc, err := fcall.NewClient(c, countLibrary, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = fc.Call(context.Background(), countFunction("look"), []string{"k"}, nil)
	if !errors.Is(err, fcall.ErrUnavailable) || errors.Is(err, fcall.ErrOutcomeUnknown) {
		t.Errorf("error is %v, want ErrUnavailable", err)
	}
	if got := p.Seen.Load(); got != 3 {
		t.Errorf("was sent %d times, want 3", got)
	}
}

// If a shared connection breaks, no call runs twice, and each call with a result was counted.
func TestCall_manyCallersOnBreakingConnections(t *testing.T) {
	t.Parallel()
	plain, clustered := servers(t)
	for _, w := range ways {
		if w.name == "conn" {
			continue // a single connection is not for concurrent use
		}
		t.Run(w.name, func(t *testing.T) {
			backend := plain
			if w.isCluster() {
				backend = clustered
			}
			p := counting.NewProxy(t, backend)
			caller := w.open(t, p.Addr)
			c, err := fcall.NewClient(direct(caller), countLibrary, fcall.Options{})
			if err != nil {
				t.Fatal(err)
			}
			const callers, each = 16, 20
			type tally struct{ Answered, Unknown, Nothing, Other int }
			var mu sync.Mutex
			var got tally
			key := fcall.Key("fcalltest", fcall.Subject(t.Name()), "n")
			var wg sync.WaitGroup
			for i := range callers {
				wg.Go(func() {
					for j := range each {
						if (i*each+j)%16 == 7 {
							p.Mode.Store(counting.LoseReply)
						} else if (i*each+j)%16 == 9 {
							p.Mode.Store(counting.Pass)
						}
						_, err := callOnce(context.Background(), c, caller, countFunction("hit"), key)
						mu.Lock()
						switch {
						case err == nil:
							got.Answered++
						case errors.Is(err, fcall.ErrOutcomeUnknown):
							got.Unknown++
						case errors.Is(err, fcall.ErrUnavailable):
							got.Nothing++
						default:
							got.Other++
							t.Log(err)
						}
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			ran := count(t, backend, key)
			t.Logf("%+v, ran %d", got, ran)
			if got.Other != 0 {
				t.Errorf("%d errors prove neither", got.Other)
			}
			if ran < got.Answered || ran > got.Answered+got.Unknown {
				t.Errorf("ran %d times, want from %d (answered) to %d (with unknown)", ran, got.Answered, got.Answered+got.Unknown)
			}
		})
	}
}

func TestCall_withoutServer(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			caller := w.open(t, noServer)
			c, err := fcall.NewClient(direct(caller), countLibrary, fcall.Options{MaxAttempts: 1})
			if err != nil {
				t.Fatal(err)
			}
			_, err = callOnce(context.Background(), c, caller, countFunction("hit"), "k")
			if !errors.Is(err, fcall.ErrUnavailable) {
				t.Errorf("error is %v, want ErrUnavailable", err)
			}
			var u *fcall.UnavailableError
			if !errors.As(err, &u) {
				t.Fatalf("error is a %T", err)
			}
		})
	}
}

func TestCall_endedContextSendsNothing(t *testing.T) {
	addr := startRedis(t)
	loadCount(t, addr)
	p := counting.NewProxy(t, addr)
	c := standalone(p.Addr)
	defer c.Close()
	fc, err := fcall.NewClient(c, countLibrary, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = fc.Call(ctx, countFunction("hit"), []string{"k"}, nil)
	if !errors.Is(err, fcall.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want ErrUnavailable and context.Canceled", err)
	}
	if diff := cmp.Diff("fcalltest.hit: nothing ran: context canceled", fmt.Sprint(err)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := p.Seen.Load(); got != 0 {
		t.Errorf("was sent %d times, want 0", got)
	}
}
