package embedded_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
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

func TestLimit(t *testing.T) {
	server := embedded.RunT(t)
	limits, err := ratelimit.New(server.Client(), fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	allowed := func() bool {
		answer, err := limits.SlidingLog(t.Context(), ratelimit.SlidingLogParams{Subject: "ann", Limit: 1, Window: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Allowed
	}
	if !allowed() || allowed() {
		t.Error("want the first call to pass, and the second to be refused")
	}
	server.Advance(time.Minute)
	if !allowed() {
		t.Error("want a call to pass after a minute")
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
