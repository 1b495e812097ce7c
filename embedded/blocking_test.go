package embedded_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

// waitBlocked returns once a command waits.
func waitBlocked(t *testing.T, c *redis.Client, n string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		info := c.InfoMap(t.Context(), "clients").Val()
		if info["Clients"]["blocked_clients"] == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("blocked clients: %v, want %s", info, n)
		}
	}
}

func TestXRead_waitsForAnEntry(t *testing.T) {
	s := embedded.New(embedded.Options{})
	t.Cleanup(func() { s.Close() })
	c := s.Client()
	t.Cleanup(func() { c.Close() })
	type answer struct {
		streams []redis.XStream
		err     error
	}
	for name, process := range map[string]func(context.Context, redis.Cmder) error{"connection": c.Process, "process": s.Process} {
		t.Run(name, func(t *testing.T) {
			done := make(chan answer, 1)
			go func() {
				cmd := redis.NewXStreamSliceCmd(t.Context(), "xread", "block", 0, "streams", "jobs", "$")
				err := process(t.Context(), cmd)
				done <- answer{cmd.Val(), err}
			}()
			waitBlocked(t, c, "1")
			id := c.XAdd(t.Context(), &redis.XAddArgs{Stream: "jobs", Values: []string{"n", name}}).Val()
			want := answer{[]redis.XStream{{Stream: "jobs", Messages: []redis.XMessage{{ID: id, Values: map[string]any{"n": name}}}}}, nil}
			if diff := cmp.Diff(want, <-done, cmp.AllowUnexported(answer{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			waitBlocked(t, c, "0")
		})
	}
}

func TestXRead_timesOutOnTheServersClock(t *testing.T) {
	clock := embedded.NewManualClock(time.Unix(1_700_000_000, 0))
	s := embedded.New(embedded.Options{Clock: clock})
	t.Cleanup(func() { s.Close() })
	c := s.Client()
	t.Cleanup(func() { c.Close() })
	done := make(chan error, 1)
	go func() {
		done <- c.XRead(t.Context(), &redis.XReadArgs{Streams: []string{"jobs", "$"}, Block: time.Hour}).Err()
	}()
	waitBlocked(t, c, "1")
	clock.Advance(time.Hour - time.Millisecond)
	waitBlocked(t, c, "1")
	clock.Advance(time.Millisecond)
	if err := <-done; !errors.Is(err, redis.Nil) {
		t.Errorf("after the timeout: %v, want redis.Nil", err)
	}
}

func TestXRead_endsWithItsConnection(t *testing.T) {
	s := embedded.New(embedded.Options{})
	t.Cleanup(func() { s.Close() })
	c, other := s.Client(), s.Client()
	t.Cleanup(func() { c.Close() })
	done := make(chan error, 1)
	go func() {
		done <- other.XRead(context.Background(), &redis.XReadArgs{Streams: []string{"jobs", "$"}}).Err()
	}()
	waitBlocked(t, c, "1")
	other.Close()
	waitBlocked(t, c, "0")
	if err := <-done; err == nil {
		t.Error("no error after the client was closed")
	}
}

func TestXRead_waitsOnAfterItsStreamIsDeleted(t *testing.T) {
	s, c := blockingServer(t, embedded.Options{})
	c.XAdd(t.Context(), &redis.XAddArgs{Stream: "jobs", ID: "1-1", Values: []string{"n", "1"}})
	done := waiting(t, s, 1, "xread", "block", 0, "streams", "jobs", "$")
	c.Del(t.Context(), "jobs")
	waitBlocked(t, c, "1")
	c.XAdd(t.Context(), &redis.XAddArgs{Stream: "jobs", ID: "2-1", Values: []string{"n", "2"}})
	if got := <-done; !strings.Contains(got, "2-1 [n 2]") { // in the shape of either protocol
		t.Errorf("got %s, want the entry 2-1", got)
	}
}
