package embedded_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

const counters = `#!lua name=counters
redis.register_function('next', function(keys) return redis.call('INCR', keys[1]) end)
`

func TestSession(t *testing.T) {
	server := embedded.RunT(t) // ends with the test
	client := server.Client()
	client.Set(t.Context(), "session", "u1", time.Minute)
	server.Advance(time.Minute + time.Millisecond) // no test sleeps
	if err := client.Get(t.Context(), "session").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("the session is still there: %v", err)
	}
}

func TestFunction(t *testing.T) {
	server := embedded.RunT(t)
	server.Load(t, counters) // the source of a library
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	if n, err := client.FCall(t.Context(), "next", []string{"counter"}).Int(); err != nil || n != 1 {
		t.Errorf("got %d, %v, want 1", n, err)
	}
}
