package luahost

import (
	"testing"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
)

// gcra has what a real limiter has: bounds, the clock, one read and one write.
const gcra = `
local function now_us()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end
redis.register_function{function_name='gcra', callback=function(keys, args)
  local limit, period, burst, cost = tonumber(args[1]), tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
  if not limit or limit ~= limit or limit < 1 or limit > 1000000 then
    return redis.error_reply('RLARG limit must be 1..1000000')
  end
  local now = now_us()
  local tat = tonumber(redis.call('GET', keys[1]) or now)
  if tat < now then tat = now end
  local emission = period / limit
  local new_tat = tat + cost * emission
  local allow_at = new_tat - burst * emission
  if allow_at > now then
    return {0, 0, math.ceil(allow_at - now)}
  end
  redis.call('SET', keys[1], string.format('%.0f', new_tat), 'PX', math.ceil((new_tat - now) / 1000))
  return {1, math.floor((now - allow_at) / emission), 0}
end}
`

func BenchmarkCall_gcra(b *testing.B) {
	l := mustLoad(b, gcra)
	h := &fakeHost{}
	keys, args := []string{"{k}s"}, []string{"100", "60000000", "100", "1"}
	b.ReportAllocs()
	for b.Loop() {
		if v := l.Call("gcra", keys, args, h); v.Kind != resp.Array {
			b.Fatal(render(v))
		}
	}
}

func BenchmarkCall_empty(b *testing.B) {
	l := mustLoad(b, "redis.register_function('f', function() return 1 end)")
	h := &fakeHost{}
	b.ReportAllocs()
	for b.Loop() {
		l.Call("f", nil, nil, h)
	}
}

func BenchmarkCall_raised(b *testing.B) {
	l := mustLoad(b, "redis.register_function('f', function() error('x') end)")
	h := &fakeHost{}
	for b.Loop() {
		l.Call("f", nil, nil, h)
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		mustLoad(b, gcra)
	}
}
