package embedded_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

// Two shapes of a token bucket: with its state in the key's TTL, and with a number in the key.
const buckets = `#!lua name=buckets
redis.register_function('by_ttl', function(keys, args)
  local interval, burst, cost = tonumber(args[1]), tonumber(args[2]), tonumber(args[3])
  local left = redis.call('PTTL', keys[1])
  if left < 0 then left = 0 end
  local after = left + cost * interval
  if after > burst * interval then
    return {0, 0, after - burst * interval}
  end
  redis.call('SET', keys[1], '', 'PX', after)
  return {1, math.floor((burst * interval - after) / interval), 0}
end)
redis.register_function('by_value', function(keys, args)
  local interval, burst, cost = tonumber(args[1]), tonumber(args[2]), tonumber(args[3])
  local time = redis.call('TIME')
  local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
  local tat = tonumber(redis.call('GET', keys[1]) or '0')
  if tat < now then tat = now end
  local after = tat + cost * interval
  if after - now > burst * interval then
    return {0, 0, after - now - burst * interval}
  end
  redis.call('SET', keys[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
  return {1, math.floor((burst * interval - after + now) / interval), 0}
end)
redis.register_function('empty', function() return 1 end)
`

const liveKeys = 100_000

func benchKeys() []string {
	keys := make([]string, liveKeys)
	for i := range keys {
		keys[i] = fmt.Sprintf("ratelimit:{user%d}:gcra", i)
	}
	return keys
}

func BenchmarkProcess(b *testing.B) {
	keys := benchKeys()
	ratelimit, err := os.ReadFile("../gen/ratelimit/ratelimit.lua")
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name string
		args []any
	}{
		{"empty", []any{"FCALL", "empty", 1, ""}},
		{"by_ttl", []any{"FCALL", "by_ttl", 1, "", 600, 100, 1}},
		{"by_value", []any{"FCALL", "by_value", 1, "", 600_000, 100, 1}},
		{"gcra", []any{"FCALL", "ratelimit_v1_gcra", 1, "", 100, 60_000_000, 100, 1}},          // 100 per minute: its state is the key's TTL
		{"gcra_7_per_minute", []any{"FCALL", "ratelimit_v1_gcra", 1, "", 7, 60_000_000, 7, 1}}, // its state is a value
		{"get", []any{"GET", 0, 0, ""}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := embedded.New(embedded.Options{})
			defer s.Close()
			load(b, s, buckets)
			load(b, s, string(ratelimit))
			for _, key := range keys {
				if bench.args[0] == "FCALL" {
					call(s, append(append([]any(nil), bench.args[:3]...), append([]any{key}, bench.args[4:]...)...)...)
				} else {
					call(s, "SET", key, "0", "EX", 30)
				}
			}
			ctx := context.Background()
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				args := append([]any(nil), bench.args...)
				if args[0] == "GET" {
					args = append(args[:1], keys[i%liveKeys])
				} else {
					args[3] = keys[i%liveKeys]
				}
				i += 7919
				cmd := redis.NewCmd(ctx, args...)
				if err := s.Process(ctx, cmd); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

func BenchmarkClient(b *testing.B) {
	s := embedded.New(embedded.Options{})
	defer s.Close()
	load(b, s, buckets)
	client := s.Client()
	defer client.Close()
	ctx := context.Background()
	for b.Loop() {
		if err := client.FCall(ctx, "by_ttl", []string{"k"}, 600, 100, 1).Err(); err != nil {
			b.Fatal(err)
		}
	}
}
