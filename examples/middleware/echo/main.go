// Command echo guards an echo server.
package main

import (
	"log"
	"net/http"

	"github.com/labstack/echo/v4"
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

	e := echo.New()
	e.Use(echo.WrapMiddleware(m.Handler))
	e.POST("/v1/chat", func(c echo.Context) error { return c.String(http.StatusOK, "hello") })
	return e
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
