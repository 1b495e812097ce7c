package fcall_test

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

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

// An abandoned call is not sent late. When a connection becomes free, a command without effect replaces it.
func TestCall_abandonedCallIsNotSent(t *testing.T) {
	notSent(t, newSlow(), "PING")
}

// After go-redis has read a call's arguments, no other command can replace it. The arguments then change so that a server runs nothing.
func TestCall_abandonedCallRunsNothing(t *testing.T) {
	t.Parallel()
	words := []string{"FCALL", "fcalltest_v1_hit", "-1", "k"}
	caller := newSlow()
	caller.early = true
	notSent(t, caller, words...)
	plain, clustered := servers(t)
	for _, addr := range []string{plain, clustered} {
		for _, verb := range []string{"FCALL", "FCALL_RO", "EVAL", "EVALSHA"} {
			err := admin(t, addr).Do(t.Context(), verb, words[1], words[2], words[3]).Err()
			var reply redis.Error
			if !errors.As(err, &reply) {
				t.Errorf("%s: %v, want an error of the server", verb, err)
			}
		}
		if n := count(t, addr, "k"); n != 0 {
			t.Errorf("ran %d times, want 0", n)
		}
	}
}

// notSent abandons a call, and fails unless these words replace it.
func notSent(t *testing.T, caller *slow, words ...string) {
	t.Helper()
	c, err := fcall.NewClient(caller, countLibrary, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-caller.begun
		caller.turn <- struct{}{}
	}()
	if _, err := c.Call(t.Context(), countFunction("hit"), []string{"k"}, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"FCALL", "fcalltest_v1_hit", "1", "k"}, <-caller.wrote); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-caller.begun // a call that no connection has is only taken from the queue
		cancel()
	}()
	_, err = c.Call(ctx, countFunction("hit"), []string{"k"}, nil)
	if diff := cmp.Diff("ErrUnavailable", kinds(err)); diff != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v; kinds (-want +got)\n%s", err, diff)
	}
	caller.turn <- struct{}{}
	if diff := cmp.Diff(words, <-caller.wrote); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// slow writes a command only after a signal.
type slow struct {
	begun chan struct{}
	turn  chan struct{}
	wrote chan []string
	early bool // it takes the words before its turn
}

func newSlow() *slow {
	return &slow{begun: make(chan struct{}), turn: make(chan struct{}), wrote: make(chan []string, 1)}
}

func (s *slow) Process(_ context.Context, cmd redis.Cmder) error {
	args := cmd.Args()
	s.begun <- struct{}{}
	<-s.turn
	if !s.early {
		args = cmd.Args()
	}
	s.wrote <- write(args)
	cmd.(interface{ SetVal(any) }).SetVal([]any{})
	return nil
}

// write encodes words as go-redis does.
func write(args []any) []string {
	var words []string
	for _, arg := range args {
		if m, ok := arg.(encoding.BinaryMarshaler); ok {
			text, _ := m.MarshalBinary()
			arg = string(text)
		}
		words = append(words, fmt.Sprint(arg))
	}
	return words
}
