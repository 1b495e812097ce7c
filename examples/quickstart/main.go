package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
	limits, err := ratelimit.New(rdb, fcall.Options{Namespace: "api"})
	if err != nil {
		log.Fatal(err)
	}
	// May user42 do this? At most 10 times in any minute.
	answer, err := limits.SlidingLog(context.Background(), ratelimit.SlidingLogParams{
		Subject: "user42", Limit: 10, Window: time.Minute,
	})
	switch {
	case err != nil:
		log.Fatal(err) // there is no decision, for example because Redis does not answer
	case answer.Allowed:
		fmt.Println("welcome,", answer.Remaining, "left")
	default:
		fmt.Println("come back in", answer.RetryAfter)
	}
}
