package fcall_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
)

func admin(t testing.TB, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func hit(c *fcall.Client, key string) (int64, error) {
	r, err := c.Call(context.Background(), countFunction("hit"), []string{key}, nil)
	if err != nil {
		return 0, err
	}
	n := r.Int("n")
	return n, r.Err()
}

// forget empties a server, as a restart without persistence does.
func forget(t testing.TB, addr string) {
	t.Helper()
	c, ctx := admin(t, addr), context.Background()
	for _, cmd := range [][]any{{"FUNCTION", "DELETE", countLibrary.ServerName}, {"FLUSHALL"}, {"CONFIG", "RESETSTAT"}} {
		if err := c.Do(ctx, cmd...).Err(); err != nil && !strings.Contains(err.Error(), "not found") {
			t.Fatal(err)
		}
	}
}

func TestAutoLoad_doesNotResendQueuedCall(t *testing.T) {
	t.Parallel()
	plain, clustered := startRedis(t), startCluster(t)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			addr := plain
			if w.isCluster() {
				addr = clustered
			}
			caller, queues := w.open(t, addr).(*piped)
			if !queues {
				t.Skip("no pipeline")
			}
			forget(t, addr)
			c := newClient(t, caller.Caller, fcall.Options{})
			pipe := caller.open()
			pending := c.Queue(t.Context(), pipe, countFunction("hit"), []string{"k"}, nil)
			_, _ = pipe.Exec(t.Context())
			for range 2 { // a repeated Reply returns the same error
				_, err := pending.Reply()
				want := "fcalltest.hit: fcalltest_v1 was missing on this server and is loaded now; nothing ran, so send the call again"
				if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				var lost *fcall.NotLoadedError
				if !errors.As(err, &lost) || !lost.NowLoaded {
					t.Errorf("%v does not say NowLoaded", err)
				}
			}
			if n, err := callOnce(t.Context(), c, caller, countFunction("hit"), "k"); n != 1 || err != nil {
				t.Errorf("the second pipeline: %d, %v, want 1", n, err)
			}
			if diff := cmp.Diff(fcall.Stats{NotLoaded: 1, Loads: 1}, c.Stats()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A client names the conflicting library, never replaces it, and tries no second load within 1 s.
func TestAutoLoad_neverReplaces(t *testing.T) {
	t.Parallel()
	const older = "#!lua name=fcalltest_v1\n-- rlfunc: library=fcalltest version=0.9.0\nredis.register_function('fcalltest_v1_old', function() return {1} end)\n"
	const foreign = "#!lua name=other\nredis.register_function('FCALLTEST_v1_look', function() return {1} end)\n"
	steps := []struct {
		name, text, again string
		o                 fcall.Options
		given             []any
	}{
		{
			name:  "an older version",
			given: []any{"FUNCTION", "LOAD", older},
			text:  "fcalltest_v1 is not loaded on this server, and auto-load did not help: ERR Library 'fcalltest_v1' already exists, without the function; a client never replaces a library: run `rlfunc deploy`",
			again: "fcalltest_v1 is not loaded on this server, and auto-load did not help: a load less than 1 s ago failed: ERR Library 'fcalltest_v1' already exists",
		},
		{
			name:  "another library with that function",
			given: []any{"FUNCTION", "LOAD", foreign},
			text:  "fcalltest_v1 is not loaded on this server, and auto-load did not help: ERR Function fcalltest_v1_look already exists, without the function; a client never replaces a library: run `rlfunc deploy`",
			again: "fcalltest_v1 is not loaded on this server, and auto-load did not help: a load less than 1 s ago failed: ERR Function fcalltest_v1_look already exists",
		},
		{
			name:  "no permission to load",
			given: []any{"ACL", "SETUSER", "default", "-function"},
			text:  "fcalltest_v1 is not loaded on this server, and auto-load did not help: the user needs +function|load: NOPERM this user has no permissions to run the 'function|load' command",
			again: "fcalltest_v1 is not loaded on this server, and auto-load did not help: a load less than 1 s ago failed: NOPERM this user has no permissions to run the 'function|load' command",
		},
		{
			name:  "auto-load off",
			o:     fcall.Options{NoAutoLoad: true},
			given: []any{"PING"},
			text:  "fcalltest_v1 is not loaded on this server, or in a version without this function; run `rlfunc deploy`",
			again: "fcalltest_v1 is not loaded on this server, or in a version without this function; run `rlfunc deploy`",
		},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			addr := startRedis(t)
			rdb := admin(t, addr)
			if err := rdb.Do(t.Context(), s.given...).Err(); err != nil {
				t.Fatal(err)
			}
			before := rdb.FunctionList(t.Context(), redis.FunctionListQuery{WithCode: true}).Val()
			c := newClient(t, rdb, s.o)
			for _, text := range []string{s.text, s.again} {
				_, err := hit(c, "k")
				if !errors.Is(err, fcall.ErrNotLoaded) {
					t.Errorf("error is %v, want ErrNotLoaded", err)
				}
				if diff := cmp.Diff("fcalltest.hit: "+text, fmt.Sprint(err)); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
			want := fcall.Stats{NotLoaded: 2, Refused: 1}
			if s.o.NoAutoLoad {
				want.Refused = 0
			}
			if diff := cmp.Diff(want, c.Stats()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			after := rdb.FunctionList(t.Context(), redis.FunctionListQuery{WithCode: true}).Val()
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the server's libraries (-before +after)\n%s", diff)
			}
		})
	}
}

func TestAutoLoad_skipsReplica(t *testing.T) {
	primary, replica := startRedis(t), startRedis(t)
	host, port, _ := strings.Cut(primary, ":")
	rdb := admin(t, replica)
	if err := rdb.Do(t.Context(), "REPLICAOF", host, port).Err(); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, rdb, fcall.Options{})
	_, err := c.Call(t.Context(), countFunction("look"), []string{"k"}, nil)
	if !errors.Is(err, fcall.ErrNotLoaded) || !strings.Contains(err.Error(), "this is a replica, which gets its libraries from the primary: READONLY") {
		t.Errorf("error is %v", err)
	}
}

// slowLoads returns a client of a server without the library. Its first load closes started, and goes on once finish is closed.
func slowLoads(t *testing.T) (rdb *redis.Client, started, finish chan struct{}) {
	t.Helper()
	server := embedded.New(embedded.Options{})
	rdb, started, finish = server.Client(), make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { _, _ = rdb.Close(), server.Close() })
	rdb.AddHook(gated(func(_ context.Context, words []any) {
		if words[1] == "LOAD" {
			close(started)
			<-finish
		}
	}))
	return rdb, started, finish
}

// If the context of the first caller ends, the load continues for the others.
func TestAutoLoad_contextEndsOnlyItsOwnCall(t *testing.T) {
	rdb, started, finish := slowLoads(t)
	c := newClient(t, rdb, fcall.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error), make(chan error)
	go func() {
		_, err := c.Call(ctx, countFunction("hit"), []string{"k"}, nil)
		first <- err
	}()
	<-started
	go func() {
		_, err := c.Call(t.Context(), countFunction("hit"), []string{"k"}, nil)
		second <- err
	}()
	eventually(t, "the second call finds no library", func() error {
		if n := c.Stats().NotLoaded; n != 2 {
			return fmt.Errorf("%d calls", n)
		}
		return nil
	})
	cancel()
	if err := <-first; !errors.Is(err, fcall.ErrNotLoaded) || !errors.Is(err, context.Canceled) {
		t.Errorf("the first call: %v, want ErrNotLoaded and context.Canceled", err)
	}
	close(finish)
	if err := <-second; err != nil {
		t.Errorf("the second call: %v", err)
	}
}

// Reply stops waiting for a load if the context of Queue ends. The load continues.
func TestAutoLoad_replyEndsWithContextOfQueue(t *testing.T) {
	rdb, started, finish := slowLoads(t)
	defer close(finish)
	c := newClient(t, rdb, fcall.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	pipe := rdb.Pipeline()
	pending := c.Queue(ctx, pipe, countFunction("hit"), []string{"k"}, nil)
	_, _ = pipe.Exec(ctx)
	go func() {
		<-started
		cancel()
	}()
	_, err := pending.Reply()
	if !errors.Is(err, fcall.ErrNotLoaded) || !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want ErrNotLoaded and context.Canceled", err)
	}
}

// gated runs before a command is sent.
type gated func(ctx context.Context, words []any)

func (gated) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g gated) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		g(ctx, cmd.Args())
		return next(ctx, cmd)
	}
}

func (gated) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
