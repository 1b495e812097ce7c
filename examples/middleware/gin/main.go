// Command gin guards a gin engine.
package main

import (
	"log"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func main() {
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler("limits.yaml", "127.0.0.1:6379")))
}

// handler wraps the engine with guard. Allowed requests reach gin with their context; refused requests do not.
func handler(file, redisAddr string) http.Handler {
	limits, err := policy.Load(file)
	must(err)
	g, err := guard.New(redis.NewClient(&redis.Options{Addr: redisAddr, ContextTimeoutEnabled: true}), limits, guard.Options{})
	must(err)
	m, err := httpguard.New(g, httpguard.Options{})
	must(err)

	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.POST("/v1/chat", func(c *gin.Context) { c.String(http.StatusOK, "hello") })
	return m.Handler(r)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
