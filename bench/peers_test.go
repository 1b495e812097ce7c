package main

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/onpath"
)

// realServer starts a server: the embedded engine has neither the scripts of other limiters nor COPY.
func realServer(t *testing.T) *server {
	t.Helper()
	options := &redis.Options{}
	stop, err := launch(onpath.Program(t, "redis-server"), t.TempDir(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	srv := &server{client: redis.NewClient(options), network: options.Network, addr: options.Addr}
	t.Cleanup(func() { _ = srv.client.Close() })
	if err := srv.prepare(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	return srv
}

func TestWays_areMeasured(t *testing.T) {
	all, done, err := ways(t.Context(), realServer(t).client)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for _, w := range all {
		for _, callers := range []int{1, 8} {
			c, err := gather(w, callers, 10*time.Millisecond)
			if err != nil {
				t.Errorf("%s: %v", w.name, err)
				continue
			}
			if c.perSecond <= 0 || c.p50 <= 0 || c.p99 < c.p50 {
				t.Errorf("%s, %d callers: got %+v", w.name, callers, c)
			}
		}
	}
}
