package fcall_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
)

// counterLibrary is what a generated package declares as its Library.
var counterLibrary = &fcall.Library{
	Name: "counter", Version: "1.0.0", ServerName: "counter_v1",
	Code: `#!lua name=counter_v1
-- rlfunc: library=counter version=1.0.0
redis.register_function('counter_v1_add', function(keys, args)
  if tonumber(args[1]) > 100 then
    return {err = 'RLARG by must be a whole number from 1 to 100'}
  end
  local total = redis.call('INCRBY', keys[1], args[1])
  redis.call('PEXPIRE', keys[1], 60000)
  return {total}
end)
`,
}

var addFunction = &fcall.Function{Library: counterLibrary, Name: "add", ServerName: "counter_v1_add"}

// The first call finds the library missing, loads it and runs.
func ExampleClient_Args() {
	server := embedded.New(embedded.Options{}) // or a *redis.Client, *redis.ClusterClient or *redis.Ring
	defer server.Close()
	client, err := fcall.NewClient(server, counterLibrary, fcall.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	add := func(by int64) (int64, error) {
		call := client.Args(addFunction, 1, 1)
		call.Key("user-7", "count")
		call.Int(by)
		reply, err := call.Call(context.Background())
		if err != nil {
			return 0, err
		}
		total := reply.Int("total")
		return total, reply.Err()
	}
	fmt.Println(add(3))
	fmt.Println(add(4))
	fmt.Println("loads:", client.Stats().Loads)

	_, err = add(101)
	fmt.Println(errors.Is(err, fcall.ErrArgument), err)
	// Output:
	// 3 <nil>
	// 7 <nil>
	// loads: 1
	// true counter.add: by must be a whole number from 1 to 100
}

// A pipeline sends queued calls in one round trip. Each call has its own reply.
func ExampleArgs_Queue() {
	server := embedded.New(embedded.Options{})
	defer server.Close()
	ctx := context.Background()
	client, err := fcall.NewClient(server, counterLibrary, fcall.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	add := func(by int64) *fcall.Args {
		call := client.Args(addFunction, 1, 1)
		call.Key("user-7", "count")
		call.Int(by)
		return call
	}
	if _, err := add(1).Call(ctx); err != nil { // loads the library
		fmt.Println(err)
		return
	}

	pipe := server.Client().Pipeline()
	first, second := add(2).Queue(ctx, pipe), add(3).Queue(ctx, pipe)
	_, _ = pipe.Exec(ctx) // each Reply has its own error
	for _, pending := range []*fcall.Pending{first, second} {
		reply, err := pending.Reply()
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(reply.Int("total"), reply.Err())
	}
	// Output:
	// 3 <nil>
	// 6 <nil>
}

// A hash tag keeps all keys of a subject in one hash slot.
func ExampleKey() {
	fmt.Println(fcall.Key("shop", "user-7", "count"))
	fmt.Println(fcall.Key("shop", "user {7}", "count"))
	// Output:
	// shop:{user-7}:count
	// shop:{~c3cd1fab57142189be5b37a29e3bcea1}:count
}

// go-redis sends the text for each new connection, and CLIENT LIST shows it.
func ExampleIdentity() {
	o := redis.Options{
		ClientName:     "checkout",
		IdentitySuffix: fcall.Identity(counterLibrary),
	}
	fmt.Println(o.IdentitySuffix)
	// Output: counter_v1@1.0.0
}
