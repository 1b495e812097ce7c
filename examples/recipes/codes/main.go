// Command codes texts codes to phones, which neither an impatient user nor a stranger can turn into a bill or a lockout.
package main

import (
	"crypto/rand"
	"fmt"
	"log"
	"math/big"
	"net/http"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
	limits, err := policy.Load("limits.yaml")
	must(err)
	g, err := guard.New(rdb, limits, guard.Options{})
	must(err)
	number := func(r *http.Request) (string, error) { return phone(r), nil }
	m, err := httpguard.New(g, httpguard.Options{Code: policy.Code{Funcs: map[string]identity.Func{"phone": number}}})
	must(err)

	mux := http.NewServeMux()
	mux.HandleFunc("POST /codes", func(w http.ResponseWriter, r *http.Request) {
		n, err := rand.Int(rand.Reader, big.NewInt(100_000_000))
		must(err)
		code := fmt.Sprintf("%08d", n)
		if err := rdb.Set(r.Context(), "code:"+phone(r), code, 5*time.Minute).Err(); err != nil {
			http.Error(w, "try again later", http.StatusBadGateway)
			return
		}
		log.Printf("to %s: your code is %s", phone(r), code) // in place of your provider of text messages
	})
	mux.HandleFunc("POST /codes/check", func(w http.ResponseWriter, r *http.Request) {
		code, err := rdb.Get(r.Context(), "code:"+phone(r)).Result()
		if err != nil || r.FormValue("code") != code || rdb.Del(r.Context(), "code:"+phone(r)).Val() == 0 {
			http.Error(w, "wrong code", http.StatusUnauthorized)
		}
	})
	must(http.ListenAndServe("127.0.0.1:8080", http.MaxBytesHandler(m.Handler(mux), 4096)))
}

// phone returns the number in one spelling, so that 0 79 and 079 are one phone.
func phone(r *http.Request) string { return strings.ReplaceAll(r.FormValue("phone"), " ", "") }

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
