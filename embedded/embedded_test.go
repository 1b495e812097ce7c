package embedded_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

// library has functions that pass a command on, in each way that flags allow.
const library = `#!lua name=testlib
local function run(keys, args) return redis.call(unpack(args)) end
redis.register_function('run', run)
redis.register_function('try', function(keys, args) return redis.pcall(unpack(args)) end)
redis.register_function{function_name='run_ro', callback=run, flags={'no-writes'}}
redis.register_function{function_name='run_oom', callback=run, flags={'allow-oom'}, description='writes over maxmemory'}
redis.register_function('twice', function(keys, args)
  local before = redis.call('TIME')
  for i = 1, 1000 do redis.call('INCR', keys[1]) end
  local after = redis.call('TIME')
  return {before[1] == after[1] and before[2] == after[2], redis.call('GET', keys[1])}
end)
redis.register_function('values', function() return {1, 'a', false, true} end)
redis.register_function('add', function(keys, args)
  local n = tonumber(redis.call('GET', keys[1]) or '0')
  redis.call('SET', keys[1], string.format('%.0f', n + 1))
  return n + 1
end)
`

var start = time.UnixMilli(1_700_000_000_000)

func newServer(t testing.TB) (*embedded.Server, *embedded.ManualClock) {
	t.Helper()
	clock := embedded.NewManualClock(start)
	s := embedded.New(embedded.Options{Clock: clock})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s, clock
}

func load(t testing.TB, s *embedded.Server, code string) {
	t.Helper()
	if err := call(s, "FUNCTION", "LOAD", "REPLACE", code).Err(); err != nil {
		t.Fatalf("load: %v", err)
	}
}

// call sends one command through Process.
func call(s *embedded.Server, args ...any) *redis.Cmd {
	ctx := context.Background()
	cmd := redis.NewCmd(ctx, args...)
	_ = s.Process(ctx, cmd) // the command keeps the error
	return cmd
}

// answer is a command's value, or the text of its error.
func answer(cmd *redis.Cmd) any {
	v, err := cmd.Result()
	if err != nil {
		return err.Error()
	}
	return v
}

// Every caller reads a number, adds one and writes it back, in a function or under WATCH; none may be lost, by whatever way they come.
func TestFCALL_isAtomicAgainstAllOthers(t *testing.T) {
	s, _ := newServer(t)
	load(t, s, library)
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tcp := redis.NewClient(&redis.Options{Addr: addr.String()})
	defer tcp.Close()
	memory := s.Client()
	defer memory.Close()

	const callers, calls = 4, 200
	ctx := context.Background()
	ways := map[string]func() error{
		"process": func() error { return call(s, "FCALL", "add", 1, "n").Err() },
		"tcp":     func() error { return tcp.FCall(ctx, "add", []string{"n"}).Err() },
		"memory":  func() error { return memory.FCall(ctx, "add", []string{"n"}).Err() },
		"exec": func() error {
			_, err := memory.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, "n")
				p.IncrBy(ctx, "n", -1)
				p.FCall(ctx, "add", []string{"n"})
				return nil
			})
			return err
		},
	}
	var group sync.WaitGroup
	for name, once := range ways {
		for range callers {
			group.Go(func() {
				for range calls {
					if err := once(); err != nil {
						t.Errorf("%s: %v", name, err)
						return
					}
				}
			})
		}
	}
	group.Wait()
	if got, want := answer(call(s, "GET", "n")), fmt.Sprint(callers*calls*len(ways)); got != want {
		t.Errorf("n = %v after %s additions", got, want)
	}
}

// must ends the test at an error of its own setup.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
