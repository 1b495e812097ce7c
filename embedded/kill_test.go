package embedded_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

func TestKill_stopsAFunctionThatDoesNotEnd(t *testing.T) {
	s, _ := newServer(t)
	for name, body := range map[string]string{
		"commands":           "while true do redis.call('PING') end",
		"loop":               "while true do end",
		"in a pcall":         "while true do pcall(function() while true do end end) end",
		"in a closure":       "local function f() return f() end f()",
		"pattern":            "local n = 40 return string.find(('a'):rep(n), ('a?'):rep(n) .. ('a'):rep(n) .. 'b')",
		"pattern in a pcall": "pcall(string.gsub, ('x'):rep(2^20), '.-.-.-y', '') return 1",
	} {
		t.Run(name, func(t *testing.T) {
			load(t, s, "#!lua name=loop\nredis.register_function('loop', function() "+body+" end)\n")
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
			call(s, "FUNCTION", "DELETE", "loop")
			if got := answer(call(s, "PING")); got != "PONG" {
				t.Errorf("PING afterwards: %v", got)
			}
		})
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
	for {
		got, unkillable := killWhileRunning(t, s, client)
		if unkillable {
			if got != "done" {
				t.Errorf("the call answers %v, want done", got)
			}
			return
		}
		// The question came before the function had written: then it has not.
		if n := answer(call(s, "EXISTS", "k")); n != int64(0) {
			t.Fatalf("killed (%v), and yet it has written", got)
		}
	}
}

// killWhileRunning asks for the function's end until it has ended. It returns what the call answers, and whether it could not be killed.
func killWhileRunning(t *testing.T, s *embedded.Server, client *redis.Client) (got any, unkillable bool) {
	t.Helper()
	done := make(chan any)
	go func() { done <- answer(call(s, "FCALL", "wait", 1, "k")) }()
	for {
		err := client.FunctionKill(context.Background()).Err()
		if redis.HasErrorPrefix(err, "UNKILLABLE") {
			return <-done, true
		}
		select {
		case got := <-done:
			if got == "done" {
				t.Fatal("the function ended before anybody asked")
			}
			return got, false
		default:
		}
		if err != nil && !redis.HasErrorPrefix(err, "NOTBUSY") {
			t.Fatal(err)
		}
	}
}

// A function that does not end makes other clients get BUSY until it is killed.
func TestBusy_isWhatOthersGet(t *testing.T) {
	s, _ := newServer(t)
	load(t, s, "#!lua name=loop\nredis.register_function('loop', function() while true do pcall(redis.call, 'PING') end end)\n")
	client := s.Client()
	defer client.Close()
	call(s, "CONFIG", "SET", "busy-reply-threshold", 5)
	done := make(chan any)
	go func() { done <- answer(call(s, "FCALL", "loop", 0)) }()
	const busy = "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
	for deadline := time.Now().Add(10 * time.Second); ; {
		err := client.Get(t.Context(), "k").Err()
		if err != nil && err.Error() == busy {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("GET: %v, want BUSY", err)
		}
	}
	_, err := client.TxPipelined(t.Context(), func(p redis.Pipeliner) error { return p.Incr(t.Context(), "k").Err() })
	if err == nil || !strings.HasPrefix(err.Error(), "BUSY") && !strings.HasPrefix(err.Error(), "EXECABORT") {
		t.Errorf("EXEC: %v, want BUSY", err)
	}
	if stats := client.FunctionStats(t.Context()).Val(); !stats.Running() {
		t.Errorf("FUNCTION STATS: %v, want the running function", stats)
	}
	if err := client.FunctionKill(t.Context()).Err(); err != nil {
		t.Errorf("FUNCTION KILL: %v", err)
	}
	if got := fmt.Sprint(<-done); !strings.Contains(got, "Script killed by user with SCRIPT KILL") {
		t.Errorf("the killed function answers %q", got)
	}
	if got := answer(call(s, "PING")); got != "PONG" {
		t.Errorf("PING afterwards: %v", got)
	}
}

// A busy function that has written goes on.
func TestBusy_endsWhatItHasBegun(t *testing.T) {
	s, _ := newServer(t)
	load(t, s, `#!lua name=slow
redis.register_function('slow', function(keys)
  redis.call('SET', keys[1], 0)
  local n = 0
  while n < 3000000 do n = n + 1 end
  return redis.call('INCR', keys[1])
end)`)
	call(s, "CONFIG", "SET", "busy-reply-threshold", 1)
	done := make(chan any, 1)
	for killed := any("OK"); killed == "OK"; { // it has not written yet
		go func() { done <- answer(call(s, "FCALL", "slow", 1, "k")) }()
		for killed = nil; killed != "OK" && !strings.HasPrefix(fmt.Sprint(killed), "UNKILLABLE"); {
			killed = answer(call(s, "FUNCTION", "KILL"))
		}
		if killed == "OK" {
			<-done
		}
	}
	if got := <-done; got != int64(1) {
		t.Errorf("the function answers %v, want 1", got)
	}
}
