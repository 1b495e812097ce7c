package embedded_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
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
