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

// A curious hook reads every command's arguments before it is sent, and its reply afterwards, as tracing does.
type curious struct{}

func lookAtWords(cmds []redis.Cmder) {
	for _, cmd := range cmds {
		_ = fmt.Sprint(cmd.Args()...)
	}
}

func lookAtAll(cmds []redis.Cmder) {
	for _, cmd := range cmds {
		_ = cmd.String()
	}
}

func (curious) DialHook(next redis.DialHook) redis.DialHook { return next }

func (curious) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		cmds := []redis.Cmder{cmd}
		lookAtWords(cmds)
		defer lookAtAll(cmds)
		return next(ctx, cmd)
	}
}

func (curious) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		lookAtWords(cmds)
		defer lookAtAll(cmds)
		return next(ctx, cmds)
	}
}

// watched adds the hook to the client of a call.
func watched(t *testing.T, w way, addr string) fcall.Caller {
	t.Helper()
	caller := w.open(t, addr)
	switch c := direct(caller).(type) {
	case interface{ AddHook(redis.Hook) }:
		c.AddHook(curious{})
	default:
		t.Fatalf("%T takes no hook", c)
	}
	return caller
}

// A hook that reads a command does not count as a write: an unsent call has not run, and a missing library is loaded.
func TestCall_hookReadsDoNotCountAsWrites(t *testing.T) {
	t.Parallel()
	plain, clustered := servers(t)
	for _, w := range ways {
		addr := plain
		if w.isCluster() {
			addr = clustered
		}
		t.Run(w.name+"/the library is absent", func(t *testing.T) {
			forget(t, addr)
			caller := watched(t, w, addr)
			c := newClient(t, direct(caller), fcall.Options{})
			_, err := callOnce(t.Context(), c, caller, countFunction("hit"), "k")
			want := ""
			if _, queues := caller.(*piped); queues {
				want = "ErrNotLoaded"
			}
			if diff := cmp.Diff(want, kinds(err)); diff != "" {
				t.Errorf("kinds of %v (-want +got)\n%s", err, diff)
			}
			if got := loads(t, addr); got != 1 {
				t.Errorf("the server took %d loads, want 1", got)
			}
		})
		t.Run(w.name+"/nothing listens", func(t *testing.T) {
			caller := watched(t, w, noServer)
			c := newClient(t, direct(caller), fcall.Options{MaxAttempts: 1})
			_, err := callOnce(t.Context(), c, caller, countFunction("hit"), "k")
			if diff := cmp.Diff("ErrUnavailable", kinds(err)); diff != "" {
				t.Errorf("kinds of %v (-want +got)\n%s", err, diff)
			}
		})
	}
}

// If a call's context ends while it waits for an earlier round trip, it is never sent, and the error says so.
func TestCall_abandonedCallIsNotSentFromQueue(t *testing.T) {
	plain, clustered := servers(t)
	for _, w := range ways {
		if w.name != "queues" && w.name != "queues cluster" {
			continue // the others have no queue
		}
		t.Run(w.name, func(t *testing.T) {
			backend := plain
			if w.isCluster() {
				backend = clustered
			}
			p := counting.NewProxy(t, backend)
			c := newClient(t, watched(t, w, p.Addr), fcall.Options{})
			if _, err := hit(c, "k"); err != nil { // the client sees how its commands are written
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
		for name, open := range map[string]func(*testing.T, way, string) fcall.Caller{
			"plain":      func(t *testing.T, w way, addr string) fcall.Caller { return w.open(t, addr) },
			"with hooks": watched,
		} {
			t.Run(w.name+"/"+name, func(t *testing.T) {
				target := newFakeServer(t, "*1\r\n:1\r\n")
				p := counting.NewProxy(t, target.addr)
				p.Mode.Store(counting.LoseReply) // and that to ASKING
				source := newFakeServer(t, "-ASK 1 "+p.Addr+"\r\n")
				caller := open(t, w, source.addr)
				c := newClient(t, direct(caller), fcall.Options{})
				_, err := callOnce(t.Context(), c, caller, countFunction("hit"), "k")
				if diff := cmp.Diff("ErrOutcomeUnknown", kinds(err)); diff != "" {
					t.Errorf("kinds of %v (-want +got)\n%s", err, diff)
				}
				if n := p.Seen.Load(); n != 1 {
					t.Errorf("was sent to the new node %d times, want 1", n)
				}
			})
		}
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
			_, err := callOnce(t.Context(), newClient(t, direct(caller), fcall.Options{}), caller, countFunction("hit"), "k")
			want := "fcalltest.hit: outcome unknown, it may have run: go-redis cannot read the cluster's nodes (redis: nil); set their cluster-preferred-endpoint-type to ip or hostname"
			if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
