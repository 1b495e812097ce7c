package luatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

// An Engine is a kind of server that tests run on.
type Engine struct {
	// Name is the subtest's name: "embedded", "redis-8.0".
	Name string
	// Client returns a client of an empty server, whose keys and functions belong to the test until it ends. Defaults to
	// one of a new embedded server.
	Client func(t testing.TB) *redis.Client
	// Embedded is the server that Client reaches, where it is in the process, and Clock its clock. Defaults to none: the
	// server is a real one.
	Embedded *embedded.Server
	Clock    *embedded.ManualClock
}

// errSameServer says that tests would empty the database that the rlfunc command, or the service itself, works on.
var errSameServer = errors.New("RLFUNC_TEST_REDIS_URL and REDIS_URL are the same server, and tests delete what it holds: " +
	"give the tests another server or database, or unset RLFUNC_TEST_REDIS_URL")

// Engines returns the engines that need no setup: the embedded engine, and the server that RLFUNC_TEST_REDIS_URL names. That server's
// database must be empty, and another one than that of REDIS_URL, which is the command's.
func Engines(testing.TB) []Engine {
	all := []Engine{{Name: "embedded"}}
	if url := os.Getenv("RLFUNC_TEST_REDIS_URL"); url != "" {
		all = append(all, Engine{Name: "redis-url", Client: func(t testing.TB) *redis.Client { return dial(t, url) }})
	}
	return all
}

// dial uses the server of RLFUNC_TEST_REDIS_URL for the length of a test. Its database must be empty before the test, and is empty after it.
func dial(t testing.TB, url string) *redis.Client {
	t.Helper()
	if url == os.Getenv("REDIS_URL") {
		t.Fatal(errSameServer)
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatalf("RLFUNC_TEST_REDIS_URL: %v", err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	keys, err := client.DBSize(t.Context()).Result()
	if err == nil && keys > 0 {
		err = fmt.Errorf("database %d holds %d keys, which the tests would delete; name an empty one", options.DB, keys)
	}
	if err != nil {
		t.Fatalf("RLFUNC_TEST_REDIS_URL: %s: %v", options.Addr, err)
	}
	t.Cleanup(func() {
		// The test's context has ended.
		if err := client.FlushDB(context.Background()).Err(); err != nil {
			t.Errorf("RLFUNC_TEST_REDIS_URL: remove the test's keys: %v", err)
		}
	})
	return client
}
