package fcall_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/counting"
)

// A call is certainly unsent if nothing listens, but not in a pipeline of a cluster's client, which connects more than once.
func TestCall_nothingListens(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			caller := w.open(t, noServer)
			_, err := callOnce(t.Context(), newClient(t, caller, fcall.Options{MaxAttempts: 1}), caller, countFunction("hit"), "k")
			want := "ErrUnavailable"
			if w.name == "pipeline cluster" {
				want = "ErrOutcomeUnknown"
			}
			if diff := cmp.Diff(want, kinds(err)); diff != "" {
				t.Errorf("kinds of %v (-want +got)\n%s", err, diff)
			}
		})
	}
}

// If a call's context ends while it waits for an earlier round trip, it is never sent, and the error says so.
func TestCall_abandonedCallIsNotSentFromQueue(t *testing.T) {
	plain, clustered := servers(t)
	for _, w := range ways {
		if w.name != "client" && w.name != "cluster" {
			continue // the others have no queue
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
			p.Mode.Store(counting.HoldReply)
			const few = 4
			first := make(chan error)
			for range few {
				go func() {
					_, err := hit(c, "k")
					first <- err
				}()
			}
			eventually(t, "the first calls are under way", func() error {
				if p.Seen.Load() < 1+few {
					return errors.New("not sent")
				}
				return nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err := c.Call(ctx, countFunction("hit"), []string{"k"}, nil)
			if diff := cmp.Diff("ErrUnavailable", kinds(err)); diff != "" || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error is %v; kinds (-want +got)\n%s", err, diff)
			}
			for range few {
				if diff := cmp.Diff("ErrOutcomeUnknown", kinds(<-first)); diff != "" {
					t.Errorf("a call that was sent: kinds (-want +got)\n%s", diff)
				}
			}
			if got := count(t, backend, "k"); got != 1+few {
				t.Errorf("ran %d times, want %d", got, 1+few)
			}
			if err := admin(t, backend).Del(t.Context(), "k").Err(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// After an ASK redirection, go-redis returns the first node's error, even if the second node ran the call and closed the connection.
func TestCall_askedCommandThatRanIsUnknown(t *testing.T) {
	for _, w := range ways {
		if !w.isCluster() {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			target := newFakeServer(t, "*1\r\n:1\r\n")
			p := counting.NewProxy(t, target.addr)
			p.Mode.Store(counting.LoseReply) // and that to ASKING
			source := newFakeServer(t, "-ASK 1 "+p.Addr+"\r\n")
			caller := w.open(t, source.addr)
			_, err := callOnce(t.Context(), newClient(t, caller, fcall.Options{}), caller, countFunction("hit"), "k")
			if diff := cmp.Diff("ErrOutcomeUnknown", kinds(err)); diff != "" {
				t.Errorf("kinds of %v (-want +got)\n%s", err, diff)
			}
			if n := p.Seen.Load(); n != 1 {
				t.Errorf("was sent to the new node %d times, want 1", n)
			}
		})
	}
}

// A cluster whose nodes have no name in CLUSTER SLOTS makes go-redis return redis.Nil before it sends a call. That is no reply.
func TestCall_namelessClusterIsNoReply(t *testing.T) {
	const list = "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$-1\r\n:7000\r\n$2\r\nid\r\n"
	addr := counting.NewServer(t, func(words []string) string {
		if strings.EqualFold(words[0], "CLUSTER") {
			return list
		}
		return "+OK\r\n"
	})
	for _, w := range ways {
		if !w.isCluster() {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			caller := w.open(t, addr)
			direct(caller).(*redis.ClusterClient).Options().ClusterSlots = nil
			_, err := callOnce(t.Context(), newClient(t, caller, fcall.Options{}), caller, countFunction("hit"), "k")
			want := "fcalltest.hit: outcome unknown, it may have run: go-redis cannot read the cluster's nodes; set their cluster-preferred-endpoint-type to ip or hostname"
			if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A cluster client without the slots reads them first, within the deadline of its callers.
func TestCall_endsWithItsContextWhileTheSlotsAreUnknown(t *testing.T) {
	for _, bounded := range []bool{true, false} {
		for name, end := range map[string]func(context.Context) (context.Context, context.CancelFunc){
			"deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 20*time.Millisecond)
			},
			"cancel": func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(20*time.Millisecond, cancel)
				return ctx, cancel
			},
		} {
			t.Run(fmt.Sprintf("%s/bounded %v", name, bounded), func(t *testing.T) {
				over := make(chan struct{})
				rdb := redis.NewClusterClient(&redis.ClusterOptions{
					Addrs: []string{noServer}, ContextTimeoutEnabled: bounded,
					ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
						<-over
						return nil, errors.New("the test is over")
					},
				})
				defer rdb.Close()
				defer close(over)
				ctx, cancel := end(t.Context())
				defer cancel()
				start := time.Now()
				_, err := newClient(t, rdb, fcall.Options{}).Call(ctx, countFunction("hit"), []string{"k"}, nil)
				if took := time.Since(start); took > 5*time.Second { // without its context it would never end
					t.Errorf("took %v", took)
				}
				if !errors.Is(err, ctx.Err()) {
					t.Errorf("error is %v, want %v", err, ctx.Err())
				}
			})
		}
	}
}
