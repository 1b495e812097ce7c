// Command chi guards a chi router.
package main

import (
	"fmt"
	"log"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func main() {
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler("limits.yaml", "127.0.0.1:6379")))
}

func handler(file, redisAddr string) http.Handler {
	limits, err := policy.Load(file)
	must(err)
	g, err := guard.New(redis.NewClient(&redis.Options{Addr: redisAddr, ContextTimeoutEnabled: true}), limits, guard.Options{})
	must(err)
	m, err := httpguard.New(g, httpguard.Options{})
	must(err)

	r := chi.NewRouter()
	r.Use(m.Handler)
	r.Post("/v1/chat", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	return r
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
