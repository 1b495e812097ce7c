package fcall_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rlfunc/rlfunc/fcall"
)

// If the context of the first caller ends, the load continues for the others.
func TestAutoLoad_contextEndsOnlyItsOwnCall(t *testing.T) {
	server := newFakeServer(t, "-ERR Function not found\r\n", "-ERR Function not found\r\n", "*1\r\n:1\r\n")
	started, finish := make(chan struct{}), make(chan struct{})
	c := fakeClient(t, server, fcall.Options{OnNotLoaded: func(ctx context.Context) error {
		close(started)
		<-finish
		return ctx.Err()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error), make(chan error)
	go func() {
		_, err := c.Call(ctx, countFunction("hit"), nil, nil)
		first <- err
	}()
	<-started
	go func() {
		_, err := c.Call(t.Context(), countFunction("hit"), nil, nil)
		second <- err
	}()
	eventually(t, "the second call finds no library", func() error {
		if n := server.served(); n != 2 {
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
	server := newFakeServer(t, "-ERR Function not found\r\n")
	rdb := admin(t, server.addr)
	started, finish := make(chan struct{}), make(chan struct{})
	defer close(finish)
	c := newClient(t, rdb, fcall.Options{OnNotLoaded: func(context.Context) error {
		close(started)
		<-finish
		return nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	pipe := rdb.Pipeline()
	pending := c.Queue(ctx, pipe, countFunction("hit"), nil, nil)
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
