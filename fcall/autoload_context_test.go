package fcall_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
)

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

// caller names a call in its context.
type caller struct{}

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

// Calls that wait for a refused load look together at what the server holds. If the context of the one that looks ends, the others still
// learn it.
func TestAutoLoad_contextEndsOnlyItsOwnLook(t *testing.T) {
	server := embedded.New(embedded.Options{})
	defer server.Close()
	rdb := server.Client()
	defer rdb.Close()
	old := "#!lua name=" + countLibrary.ServerName + "\n-- rlfunc: library=fcalltest version=0.9.0\n" +
		"redis.register_function('" + countLibrary.ServerName + "_old', function() return 1 end)\n"
	if err := rdb.FunctionLoad(t.Context(), old).Err(); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, rdb, fcall.Options{})
	cancels, ended := map[string]context.CancelFunc{}, map[string]chan error{}
	looked := make(chan string, 1)
	rdb.AddHook(gated(func(ctx context.Context, words []any) {
		switch words[1] {
		case "LOAD":
			eventually(t, "both calls wait for the load", func() error {
				if n := c.Stats().NotLoaded; n != 2 {
					return fmt.Errorf("%d calls", n)
				}
				return nil
			})
		case "LIST":
			who := ctx.Value(caller{}).(string)
			cancels[who]()
			<-ended[who]
			looked <- who
		}
	}))
	contexts := map[string]context.Context{}
	for _, who := range []string{"ann", "bob"} {
		contexts[who], cancels[who] = context.WithCancel(context.WithValue(t.Context(), caller{}, who))
		ended[who] = make(chan error, 1)
	}
	for who, ctx := range contexts {
		go func() {
			_, err := c.Call(ctx, countFunction("hit"), nil, nil)
			ended[who] <- err
		}()
	}
	other := map[string]string{"ann": "bob", "bob": "ann"}[<-looked]
	err := <-ended[other]
	var lost *fcall.NotLoadedError
	if !errors.As(err, &lost) || lost.Found != "0.9.0" {
		t.Errorf("the other call: %v, want an error that names version 0.9.0", err)
	}
	cancels[other]()
}
