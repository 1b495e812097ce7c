package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

// waiting begins a command on a connection of its own and returns once n commands wait.
func waiting(t *testing.T, s *embedded.Server, n int, args ...any) <-chan string {
	t.Helper()
	c := s.Client()
	t.Cleanup(func() { c.Close() })
	done := make(chan string, 1)
	go func() {
		v, err := c.Do(context.Background(), args...).Result()
		done <- fmt.Sprintf("%v %v", v, err)
	}()
	waitBlocked(t, c, fmt.Sprint(n))
	return done
}

func blockingServer(t *testing.T, o embedded.Options) (*embedded.Server, *redis.Client) {
	s := embedded.New(o)
	c := s.Client()
	t.Cleanup(func() { c.Close(); s.Close() })
	return s, c
}

func TestBlockingPop_servesClientsInTheOrderOfTheirCommands(t *testing.T) {
	s, c := blockingServer(t, embedded.Options{})
	first := waiting(t, s, 1, "blpop", "jobs", 0)
	second := waiting(t, s, 2, "brpop", "none", "jobs", 0)
	third := waiting(t, s, 3, "blmpop", 0, 1, "jobs", "left", "count", 9)
	c.RPush(t.Context(), "jobs", "a", "b", "c", "d")
	want := []string{"[jobs a] <nil>", "[jobs d] <nil>", "[jobs [b c]] <nil>"}
	if diff := cmp.Diff(want, []string{<-first, <-second, <-third}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	waitBlocked(t, c, "0")
}

func TestBlockingMove_passesOnToTheNextClient(t *testing.T) {
	s, c := blockingServer(t, embedded.Options{})
	first := waiting(t, s, 1, "blmove", "a", "b", "right", "left", 0)
	second := waiting(t, s, 2, "brpoplpush", "b", "c", 0)
	third := waiting(t, s, 3, "blpop", "c", 0)
	c.RPush(t.Context(), "a", "x")
	want := []string{"x <nil>", "x <nil>", "[c x] <nil>"}
	if diff := cmp.Diff(want, []string{<-first, <-second, <-third}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := c.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are left, want 0", n)
	}
}

// Only what a transaction leaves behind counts.
func TestBlockingPop_seesATransactionWhole(t *testing.T) {
	s, c := blockingServer(t, embedded.Options{})
	done := waiting(t, s, 1, "bzpopmin", "z", 0)
	_, err := c.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
		p.ZAdd(t.Context(), "z", redis.Z{Score: 1, Member: "gone"})
		p.Del(t.Context(), "z")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	waitBlocked(t, c, "1")
	c.ZAdd(t.Context(), "z", redis.Z{Score: 2, Member: "m"})
	if got := <-done; got != "[z m 2] <nil>" {
		t.Errorf("got %s", got)
	}
}

func TestBlockingPop_waitsWhileTheKeyHoldsAnotherKind(t *testing.T) {
	s, c := blockingServer(t, embedded.Options{})
	done := waiting(t, s, 1, "blpop", "k", 0)
	c.Set(t.Context(), "k", "text", 0)
	waitBlocked(t, c, "1")
	c.Del(t.Context(), "k")
	c.RPush(t.Context(), "k", "x")
	if got := <-done; got != "[k x] <nil>" {
		t.Errorf("got %s", got)
	}
}

func TestBlockingMove_leavesTheElementIfTheTargetIsNoList(t *testing.T) {
	s, c := blockingServer(t, embedded.Options{})
	c.Set(t.Context(), "to", "text", 0)
	done := waiting(t, s, 1, "blmove", "from", "to", "left", "left", 0)
	c.RPush(t.Context(), "from", "x")
	if got := <-done; got != "<nil> WRONGTYPE Operation against a key holding the wrong kind of value" {
		t.Errorf("got %s", got)
	}
	if diff := cmp.Diff([]string{"x"}, c.LRange(t.Context(), "from", 0, -1).Val()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestBlockingPop_timesOutOnTheServersClock(t *testing.T) {
	clock := embedded.NewManualClock(time.Unix(1_700_000_000, 0))
	s, c := blockingServer(t, embedded.Options{Clock: clock})
	done := waiting(t, s, 1, "blpop", "k", "0.5")
	clock.Advance(499 * time.Millisecond)
	waitBlocked(t, c, "1")
	clock.Advance(time.Millisecond)
	if got := <-done; got != "<nil> redis: nil" {
		t.Errorf("got %s", got)
	}
}

func TestBlockingPop_takesNothingForAClientThatIsGone(t *testing.T) {
	s, c := blockingServer(t, embedded.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Process(ctx, redis.NewCmd(ctx, "blpop", "k", 0)) }()
	waitBlocked(t, c, "1")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	waitBlocked(t, c, "0")
	c.RPush(t.Context(), "k", "x")
	if n := c.LLen(t.Context(), "k").Val(); n != 1 {
		t.Errorf("%d elements, want 1", n)
	}
}

func TestClientUnblock_endsACommandAsItsTimeoutOrWithAnError(t *testing.T) {
	s, c := blockingServer(t, embedded.Options{})
	for reason, want := range map[string]string{"timeout": "<nil> redis: nil", "error": "<nil> UNBLOCKED client unblocked via CLIENT UNBLOCK"} {
		blocked := s.Client()
		conn := blocked.Conn()
		t.Cleanup(func() { conn.Close(); blocked.Close() })
		id := conn.ClientID(t.Context()).Val()
		done := make(chan string, 1)
		go func() {
			cmd := redis.NewCmd(context.Background(), "blpop", "k", 0)
			err := conn.Process(context.Background(), cmd)
			done <- fmt.Sprintf("%v %v", cmd.Val(), err)
		}()
		waitBlocked(t, c, "1")
		if n, err := c.Do(t.Context(), "client", "unblock", id, reason).Int(); err != nil || n != 1 {
			t.Fatalf("%s: %d, %v, want 1", reason, n, err)
		}
		if got := <-done; got != want {
			t.Errorf("%s: got %s, want %s", reason, got, want)
		}
		if n, err := c.Do(t.Context(), "client", "unblock", id).Int(); err != nil || n != 0 {
			t.Errorf("%s, again: %d, %v, want 0", reason, n, err)
		}
	}
}
