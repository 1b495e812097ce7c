// Command login limits failed logins, so that guessing stops and nobody can lock out somebody else.
package main

import (
	"cmp"
	"log"
	"net/http"

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
	account := func(r *http.Request) (string, error) { return r.FormValue("account"), nil }
	m, err := httpguard.New(g, httpguard.Options{Code: policy.Code{Funcs: map[string]identity.Func{"account": account}}})
	must(err)

	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		if !correct(r.FormValue("account"), r.FormValue("password")) {
			http.Error(w, "wrong account or password", http.StatusUnauthorized)
		}
	})
	small := http.MaxBytesHandler(m.Handler(mux), 4096)
	must(http.ListenAndServe("127.0.0.1:8080", small))
}

// correct stands for your own check.
func correct(account, password string) bool { return cmp.Or(account, "?")+"-secret" == password }

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
