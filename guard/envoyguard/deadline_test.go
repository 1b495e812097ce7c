package envoyguard_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/envoyguard"
)

// Envoy lets a request pass whose answer comes after its own timeout, so a silent Redis must not use all of it.
func TestShouldRateLimit_answersBeforeTheDeadline(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	rdb := redis.NewClient(&redis.Options{Addr: silent.Addr().String(), MaxRetries: -1})
	defer rdb.Close()
	p := parse(t, `
timeout: 10s
endpoints:
  - {name: login, limits: [{name: minute, by: ip, limit: 10, window: 1m, on_failure: closed}]}
descriptors:
  - {domain: edge, entries: [{key: remote_address, identity: ip}], endpoint: login}
`)
	g, err := guard.New(rdb, p, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	s, err := envoyguard.New(g, envoyguard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	got, err := s.ShouldRateLimit(ctx, edge(from("203.0.113.7")))
	if err != nil {
		t.Fatal(err)
	}
	if a := read(got); a.Code != "OVER_LIMIT" || a.Error != "limiter_unavailable" || ctx.Err() != nil {
		t.Errorf("%+v, and the deadline: %v", a, ctx.Err())
	}
}
