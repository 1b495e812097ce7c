package embedded_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

func ExampleServer_Process() {
	clock := embedded.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	server := embedded.New(embedded.Options{Clock: clock})
	defer server.Close()

	ctx := context.Background()
	run := func(args ...any) any {
		cmd := redis.NewCmd(ctx, args...)
		if err := server.Process(ctx, cmd); err != nil {
			return err
		}
		return cmd.Val()
	}
	run("FUNCTION", "LOAD", `#!lua name=once
redis.register_function('once_per_minute', function(keys)
  return redis.call('SET', keys[1], '1', 'NX', 'PX', '60000') and 1 or 0
end)`)
	fmt.Println(run("FCALL", "once_per_minute", 1, "user1"))
	fmt.Println(run("FCALL", "once_per_minute", 1, "user1"))
	clock.Advance(time.Minute + time.Millisecond)
	fmt.Println(run("FCALL", "once_per_minute", 1, "user1"))
	fmt.Println(run("FCALL", "no_such_function", 0))
	// Output:
	// 1
	// 0
	// 1
	// ERR Function not found
}

// A test moves the clock past an expiry, and does not sleep.
func ExampleNewManualClock() {
	clock := embedded.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	server := embedded.New(embedded.Options{Clock: clock})
	defer server.Close()
	client := server.Client()
	defer client.Close()

	ctx := context.Background()
	client.Set(ctx, "session", "u1", 30*time.Minute)
	clock.Advance(29 * time.Minute)
	fmt.Println(client.Get(ctx, "session").Val(), client.TTL(ctx, "session").Val())
	clock.Advance(time.Minute + time.Millisecond)
	fmt.Println(client.Get(ctx, "session").Err())
	// Output:
	// u1 1m0s
	// redis: nil
}

// Generated clients call the server directly.
func ExampleServer_generatedClient() {
	clock := embedded.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	server := embedded.New(embedded.Options{Clock: clock})
	defer server.Close()
	limits, err := ratelimit.New(server, fcall.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for range 3 {
		r, err := limits.FixedWindow(ctx, ratelimit.FixedWindowParams{Subject: "user42", Limit: 2, Window: time.Minute})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r.Allowed, r.Remaining)
	}
	// Output:
	// true 1
	// true 0
	// false 0
}

// Any client of Redis reaches a server that listens.
func ExampleServer_Listen() {
	server := embedded.New(embedded.Options{})
	defer server.Close()
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	client := redis.NewClient(&redis.Options{Addr: addr.String(), Protocol: 2})
	defer client.Close()
	fmt.Println(client.Ping(context.Background()).Val())
	// Output: PONG
}

func ExampleServer_Client() {
	server := embedded.New(embedded.Options{})
	defer server.Close()
	client := server.Client()
	defer client.Close()

	ctx := context.Background()
	pipe := client.TxPipeline()
	pipe.Set(ctx, "k", 41, time.Minute)
	n := pipe.Incr(ctx, "k")
	if _, err := pipe.Exec(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println(n.Val())
	// Output: 42
}
