// Command session limits signed-in users by their account. Which account a session cookie belongs to, only the service's own code knows.
package main

import (
	"fmt"
	"log"
	"net/http"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// sessions stands for the table of your sessions: user by cookie.
var sessions = map[string]string{"s1": "ada", "s2": "ada", "s3": "bob"}

func user(r *http.Request) (string, error) {
	cookie, err := r.Cookie("session")
	if err != nil || sessions[cookie.Value] == "" {
		return "", identity.ErrNone // not signed in: counted by address
	}
	return sessions[cookie.Value], nil
}

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
	limits, err := policy.Load("limits.yaml")
	must(err)
	g, err := guard.New(rdb, limits, guard.Options{})
	must(err)
	m, err := httpguard.New(g, httpguard.Options{Code: policy.Code{Funcs: map[string]identity.Func{"user": user}}})
	must(err)
	http.HandleFunc("GET /search", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "results for", httpguard.FromContext(r.Context()).Subject)
	})
	must(http.ListenAndServe("127.0.0.1:8080", m.Handler(http.DefaultServeMux)))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
