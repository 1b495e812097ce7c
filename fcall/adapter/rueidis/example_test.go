package rueidis_test

import (
	"context"
	"log"
	"time"

	"github.com/redis/rueidis"

	"github.com/rlfunc/rlfunc/fcall"
	adapter "github.com/rlfunc/rlfunc/fcall/adapter/rueidis"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func ExampleNew() {
	redis, err := adapter.New(rueidis.ClientOption{
		InitAddress:  []string{"127.0.0.1:6379"},
		DisableRetry: true, // a call that may have run is never sent again
	})
	if err != nil {
		log.Fatal(err)
	}
	defer redis.Rueidis.Close()

	limits, err := ratelimit.New(redis, fcall.Options{})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := limits.GCRA(context.Background(), ratelimit.GCRAParams{Subject: "user=7", Limit: 10, Period: time.Minute})
	log.Println(answer.Allowed, err)
}

func ExampleNew_guard() {
	redis, err := adapter.New(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}, DisableRetry: true})
	if err != nil {
		log.Fatal(err)
	}
	rules, err := policy.Load("limits.yaml")
	if err != nil {
		log.Fatal(err)
	}
	g, err := guard.New(redis, rules, guard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
}
