package embedded_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

// once is a command type of its own, as a caller makes one that is never sent twice.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

func TestProcess_fillsEachTypeOfCommand(t *testing.T) {
	s, _ := newServer(t)
	ctx := context.Background()
	run := func(cmd redis.Cmder) redis.Cmder {
		if err := s.Process(ctx, cmd); err != nil {
			t.Errorf("%v: %v", cmd.Args(), err)
		}
		return cmd
	}
	got := []any{
		run(redis.NewStatusCmd(ctx, "SET", "k", []byte("5"), "EX", 100)).(*redis.StatusCmd).Val(),
		run(redis.NewStringCmd(ctx, "GET", "k")).(*redis.StringCmd).Val(),
		run(redis.NewIntCmd(ctx, "INCRBY", "k", int64(2))).(*redis.IntCmd).Val(),
		run(redis.NewCmd(ctx, "TYPE", "k")).(*redis.Cmd).Val(),
		run(once{redis.NewCmd(ctx, "MGET", "k", "none")}).(once).Val(),
		run(redis.NewDurationCmd(ctx, time.Second, "TTL", "k")).(*redis.DurationCmd).Val(),
		run(redis.NewBoolCmd(ctx, "EXPIRE", "k", true)).(*redis.BoolCmd).Val(),
		run(redis.NewFloatCmd(ctx, "ZINCRBY", "z", 1.5, "m")).(*redis.FloatCmd).Val(),
		run(redis.NewStringSliceCmd(ctx, "ZRANGE", "z", 0, uint8(1))).(*redis.StringSliceCmd).Val(),
		run(redis.NewTimeCmd(ctx, "TIME")).(*redis.TimeCmd).Val().Equal(start),
	}
	want := []any{"OK", "5", int64(7), "string", []any{"7", nil}, 100 * time.Second, true, 1.5, []string{"m"}, true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestProcess_errors(t *testing.T) {
	s, _ := newServer(t)
	ctx := context.Background()
	missing := redis.NewStringCmd(ctx, "GET", "none")
	if err := s.Process(ctx, missing); !errors.Is(err, redis.Nil) || !errors.Is(missing.Err(), redis.Nil) {
		t.Errorf("GET of a missing key: %v, %v, want redis.Nil", err, missing.Err())
	}
	call(s, "SET", "k", "v")
	err := call(s, "LPUSH", "k", "v").Err()
	if redisErr := redis.Error(nil); !errors.As(err, &redisErr) || !redis.HasErrorPrefix(err, "WRONGTYPE") {
		t.Errorf("LPUSH on a string: %v, want a redis.Error WRONGTYPE", err)
	}
	for _, name := range []string{"MULTI", "SELECT", "WATCH", "QUIT"} {
		if err := call(s, name, "0").Err(); !redis.HasErrorPrefix(err, name[:0]) {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
	if err := call(s, "SET", "k", struct{}{}).Err(); err == nil {
		t.Error("a struct was taken as an argument")
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	cmd := redis.NewCmd(cancelled, "SET", "k", "w")
	if err := s.Process(cancelled, cmd); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: %v", err)
	}
	if got := answer(call(s, "GET", "k")); got != "v" {
		t.Errorf("k = %v after a cancelled SET, want v", got)
	}
	must(t, s.Close())
	for _, cmd := range []redis.Cmder{redis.NewCmd(ctx, "PING"), redis.NewBoolCmd(ctx, "PING")} {
		if err := s.Process(ctx, cmd); !errors.Is(err, redis.ErrClosed) {
			t.Errorf("%T after Close: %v, want redis.ErrClosed", cmd, err)
		}
	}
	if _, err := s.Listen("127.0.0.1:0"); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("Listen after Close: %v, want redis.ErrClosed", err)
	}
}

func TestProcess_nestedErrorIsAnElement(t *testing.T) {
	s, _ := newServer(t)
	load(t, s, "#!lua name=nested\nredis.register_function('nested', function() return {1, {err='RLSTATE broken'}, {2}} end)\n")
	values, err := call(s, "FCALL", "nested", 0).Slice()
	if err != nil || len(values) != 3 {
		t.Fatalf("reply %v, %v", values, err)
	}
	if e, ok := values[1].(error); !ok || e.Error() != "RLSTATE broken" {
		t.Errorf("second element %#v, want the error", values[1])
	}
}

func TestClock_expiryFollowsTheManualClock(t *testing.T) {
	s, clock := newServer(t)
	steps := []struct {
		advance time.Duration
		args    string
		want    any
	}{
		{0, "SET k v PX 1500", "OK"},
		{0, "PTTL k", int64(1500)},
		{0, "TTL k", int64(2)},
		{0, "PEXPIRETIME k", start.UnixMilli() + 1500},
		{1001 * time.Millisecond, "TTL k", int64(0)},
		{499 * time.Millisecond, "PTTL k", int64(0)},
		{0, "GET k", "v"},
		{time.Millisecond, "GET k", "redis: nil"},
		{0, "PTTL k", int64(-2)},
		{0, "SET k v EX 5", "OK"},
		{-time.Hour, "PTTL k", int64(3_605_000)},
		{time.Microsecond, "TIME", []any{"1699996401", "501001"}},
	}
	for i, step := range steps {
		clock.Advance(step.advance)
		if diff := cmp.Diff(step.want, answer(call(s, words(step.args)...))); diff != "" {
			t.Errorf("step %d: %s (-want +got):\n%s", i, step.args, diff)
		}
	}
}

func TestZeroOptions_takeTheRealTime(t *testing.T) {
	s := embedded.New(embedded.Options{})
	defer s.Close()
	ctx := context.Background()
	before := time.Now().Add(-time.Second)
	cmd := redis.NewTimeCmd(ctx, "TIME")
	must(t, s.Process(ctx, cmd))
	if got := cmd.Val(); got.Before(before) || got.After(time.Now().Add(time.Second)) {
		t.Errorf("TIME = %v", got)
	}
}
