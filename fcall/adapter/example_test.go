package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/adapter"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// A sender sends commands over another client library, here to the embedded engine. It sends each once.
type sender struct{ server *embedded.Server }

func (s sender) Send(ctx context.Context, commands []adapter.Command) []adapter.Reply {
	var replies []adapter.Reply
	for _, command := range commands {
		var words []any
		for _, word := range command.Words {
			words = append(words, word)
		}
		cmd := redis.NewCmd(ctx, words...)
		err := s.server.Process(ctx, cmd)
		if said, ok := errors.AsType[redis.Error](err); ok && !errors.Is(err, redis.Nil) {
			err = adapter.ServerError(said.Error())
		}
		replies = append(replies, adapter.Reply{Value: cmd.Val(), Err: err})
	}
	return replies
}

// Generated clients, and guard, take an adapter in place of a client of go-redis.
func Example() {
	server := embedded.New(embedded.Options{})
	defer server.Close()
	client, err := adapter.New(sender{server}, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	limits, err := ratelimit.New(client, fcall.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := limits.GCRA(context.Background(), ratelimit.GCRAParams{Subject: "user=7", Limit: 10, Period: time.Minute})
	fmt.Println(r.Allowed, r.Remaining, err)
	// Output: true 9 <nil>
}
