// Command guard is a service that its policy, limits.yaml, protects.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/loader"
)

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })

	ctx := context.Background()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
	if _, err := loader.Ensure(ctx, rdb, guard.Library); err != nil { // loads what guard calls, if Redis lacks it
		log.Print(err) // the service also works while Redis is down
	}
	limits, err := policy.Load("limits.yaml")
	must(err)
	g, err := guard.New(rdb, limits, guard.Options{})
	must(err)
	m, err := httpguard.New(g, httpguard.Options{})
	must(err)
	g.Watch(ctx, "limits.yaml") // an edited file takes effect within a second
	must(http.ListenAndServe("127.0.0.1:8080", m.Handler(mux)))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
