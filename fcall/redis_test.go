package fcall_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/counting"
	"github.com/rlfunc/rlfunc/internal/engines"
)

var (
	countLibrary  = counting.Library
	countFunction = counting.Function
)

// noServer is an address where nothing listens. A free port could become that of another test's server.
const noServer = "127.0.0.1:1"

// startRedis starts a redis-server, and returns its address.
func startRedis(t testing.TB, args ...string) string {
	t.Helper()
	return engines.OnPath(t).Start(t, args...).Addr
}

func loadCount(t testing.TB, addr string) {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	if err := c.FunctionLoadReplace(context.Background(), countLibrary.Code).Err(); err != nil {
		t.Fatal(err)
	}
}

// startCluster runs a cluster of one node that holds all slots.
func startCluster(t testing.TB, args ...string) string {
	t.Helper()
	return engines.OnPath(t).StartCluster(t, 1, 0, args...).Primaries[0].Addr
}

// eventually polls a starting server. Use it for set-up only.
func eventually(t testing.TB, what string, f func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
	}
	t.Fatalf("not in 20 s: %s: %v", what, err)
}
