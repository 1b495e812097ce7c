// Command budgets sells answers: each costs what it costs, and a user, an organization and the whole house have a budget each.
package main

import (
	"fmt"
	"log"
	"net/http"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// An owner is what your database says of the owner of an API key.
type owner struct{ user, org string }

var owners = map[string]owner{"key-of-ada": {"ada", "acme"}, "key-of-bob": {"bob", "acme"}}

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
	limits, err := policy.Load("limits.yaml")
	must(err)
	g, err := guard.New(rdb, limits, guard.Options{})
	must(err)
	m, err := httpguard.New(g, httpguard.Options{Code: policy.Code{Funcs: map[string]identity.Func{
		"user": func(r *http.Request) (string, error) { return owners[r.Header.Get("X-API-Key")].user, nil },
		"org":  func(r *http.Request) (string, error) { return owners[r.Header.Get("X-API-Key")].org, nil },
	}}})
	must(err)
	http.HandleFunc("POST /v1/answers", answer)
	must(http.ListenAndServe("127.0.0.1:8080", m.Handler(http.DefaultServeMux)))
}

func answer(w http.ResponseWriter, r *http.Request) {
	if owners[r.Header.Get("X-API-Key")].user == "" {
		http.Error(w, "unknown API key", http.StatusUnauthorized)
		return
	}
	text, cost, tokens := think()
	charge := httpguard.FromContext(r.Context()).Charge
	_ = charge.Settle(r.Context(), cost, guard.Amount{Unit: "tokens", N: tokens}) // if it fails, guard tries again after the request
	fmt.Fprintln(w, text)
}

// think stands for your own work, which costs 0.03.
func think() (text string, cost fcall.Micros, tokens int64) { return "42", 30_000, 900 }

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
