package embedded_test

import (
	"context"
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
