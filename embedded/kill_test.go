package embedded_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestKill_stopsAFunctionThatDoesNotEnd(t *testing.T) {
	s, _ := newServer(t)
	load(t, s, "#!lua name=loop\nredis.register_function('loop', function() while true do redis.call('PING') end end)\n")
	done := make(chan error)
	go func() { done <- call(s, "FCALL", "loop", 0).Err() }()
	for {
		err := call(s, "FUNCTION", "KILL").Err()
		if err == nil {
			break
		}
		if !redis.HasErrorPrefix(err, "NOTBUSY") { // it has not begun yet
			t.Fatal(err)
		}
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "Script killed by user") {
		t.Errorf("the killed call answers %v", err)
	}
	if got := answer(call(s, "PING")); got != "PONG" {
		t.Errorf("PING afterwards: %v", got)
	}
}

func TestKill_leavesAFunctionThatHasWritten(t *testing.T) {
	s, _ := newServer(t)
	load(t, s, `#!lua name=wait
redis.register_function('wait', function(keys)
  redis.call('SET', keys[1], '1')
  for i = 1, 4000000 do end
  return 'done'
end)`)
	client := s.Client()
	defer client.Close()
	if err := client.Ping(context.Background()).Err(); err != nil { // a new connection's greeting would wait for the function
		t.Fatal(err)
	}
	done := make(chan any)
	go func() { done <- answer(call(s, "FCALL", "wait", 1, "k")) }()
	for {
		err := client.FunctionKill(context.Background()).Err()
		if redis.HasErrorPrefix(err, "UNKILLABLE") {
			break
		}
		select {
		case got := <-done: // it was over before anybody asked
			t.Fatalf("the function ended before anybody asked: %v", got)
		default:
		}
		if !redis.HasErrorPrefix(err, "NOTBUSY") && err != nil {
			t.Fatal(err)
		}
	}
	if got := <-done; got != "done" {
		t.Errorf("the call answers %v, want done", got)
	}
}
