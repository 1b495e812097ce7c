package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/loader"
)

func main() {
	ctx := context.Background()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})

	// Loads the library if it is missing. It never replaces a library; only a deploy does.
	if _, err := loader.Ensure(ctx, rdb, ratelimit.Library); err != nil {
		log.Fatal(err)
	}
	limits, err := ratelimit.New(rdb, fcall.Options{Namespace: "api"})
	if err != nil {
		log.Fatal(err)
	}

	// 10 a minute for each user. The receipt is the request's own ID, here a new one for each run: a retry that brings the same one costs nothing.
	answer, err := limits.SlidingLog(ctx, ratelimit.SlidingLogParams{
		Subject: "user42", Limit: 10, Window: time.Minute, Receipt: fcall.NewToken(),
	})
	switch {
	case err != nil:
		log.Fatal(err)
	case answer.Allowed:
		fmt.Println("welcome,", answer.Remaining, "left")
	default:
		fmt.Println("come back in", answer.RetryAfter) // exact: then a request passes, a microsecond sooner it does not
	}
}
