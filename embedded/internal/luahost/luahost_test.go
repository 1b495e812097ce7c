package luahost

import (
	"testing"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// fakeHost answers a few commands without a keyspace.
type fakeHost struct {
	last []string
	logs []string
}

func (h *fakeHost) Call(args []string) reply.Value {
	switch args[0] {
	case "ECHO":
		return reply.Text(args[1])
	case "ARGS":
		values := make([]reply.Value, len(args)-1)
		for i, a := range args[1:] {
			values[i] = reply.Text(a)
		}
		return reply.List(values...)
	case "SET":
		return reply.OK
	case "GET":
		return reply.Text("1763706467123456")
	case "TIME":
		return reply.List(reply.Text("1763706467"), reply.Text("123456"))
	case "NIL":
		return reply.Null
	case "INT":
		return reply.Integer(7)
	case "NEST":
		return reply.List(reply.Integer(1), reply.List(reply.OK, reply.Null), reply.Err("ERR inner"))
	case "WRONG":
		return reply.Err("WRONGTYPE Operation against a key holding the wrong kind of value")
	case "PANIC":
		panic("host bug")
	}
	return reply.Err("ERR Unknown Redis command called from script")
}

func (h *fakeHost) Log(_ int, text string) { h.logs = append(h.logs, text) }

func load(t testing.TB, body string) *Library {
	t.Helper()
	l, err := Load("#!lua name=t\n" + body)
	if err != nil {
		t.Fatalf("load: %v\n%s", err, body)
	}
	return l
}

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
	l := load(b, gcra)
	h := &fakeHost{}
	keys, args := []string{"rl:{user}:g"}, []string{"100", "60000000", "100", "1"}
	b.ReportAllocs()
	for b.Loop() {
		if v := l.Call("gcra", keys, args, h); v.Kind != reply.Array {
			b.Fatal(v)
		}
	}
}

func BenchmarkCall_empty(b *testing.B) {
	l := load(b, "redis.register_function('f', function() return 1 end)")
	h := &fakeHost{}
	b.ReportAllocs()
	for b.Loop() {
		l.Call("f", nil, nil, h)
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := Load("#!lua name=t\n" + gcra); err != nil {
			b.Fatal(err)
		}
	}
}
