// Command upload lets a client have two uploads in work at a time: also after the answer, while a background job processes them.
package main

import (
	"context"
	"io"
	"log"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
	limits, err := policy.Load("limits.yaml")
	must(err)
	g, err := guard.New(rdb, limits, guard.Options{})
	must(err)
	m, err := httpguard.New(g, httpguard.Options{})
	must(err)
	http.HandleFunc("PUT /uploads/{name}", upload)
	must(http.ListenAndServe("127.0.0.1:8080", m.Handler(http.DefaultServeMux)))
}

func upload(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 10<<20))
	if err != nil {
		return
	}
	charge := httpguard.FromContext(r.Context()).Charge.Detach() // the job has the place from here on
	go func() {
		defer charge.End(context.Background(), guard.End{})
		process(data)
	}()
	w.WriteHeader(http.StatusAccepted)
}

// process stands for your own work.
func process([]byte) { time.Sleep(time.Second) }

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
