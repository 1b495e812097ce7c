package luahost

import (
	"strconv"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// fakeHost answers the few commands of the tests without a keyspace: {k}s holds a
// string, every other key is missing.
type fakeHost struct{ logs []string }

func (h *fakeHost) Call(args []string) reply.Value {
	switch strings.ToUpper(args[0]) {
	case "ECHO":
		return reply.Text(args[1])
	case "PING":
		return reply.Simple("PONG")
	case "SET":
		return reply.OK
	case "GET":
		if args[1] == "{k}s" {
			return reply.Text("1763706467123456")
		}
		return reply.Null
	case "LPUSH":
		return reply.Err("WRONGTYPE Operation against a key holding the wrong kind of value")
	case "MGET":
		values := []reply.Value{}
		for _, key := range args[1:] {
			values = append(values, h.Call([]string{"GET", key}))
		}
		return reply.List(values...)
	case "TIME":
		return reply.List(reply.Text("1763706467"), reply.Text("123456"))
	case "PANIC":
		panic("host bug")
	}
	return reply.Err("ERR Unknown Redis command called from script")
}

func (h *fakeHost) Log(_ int, text string) { h.logs = append(h.logs, text) }

func (h *fakeHost) Allowed([]string) (allowed, known bool) { return true, true }

func (h *fakeHost) KeysOf([]string) (keys []string, sizes []int, write bool) { return nil, nil, false }

// mustLoad loads a library whose first line of code is line 2.
func mustLoad(t testing.TB, body string) *Library {
	t.Helper()
	l, err := Load("#!lua name=t\n"+body, nil)
	if err != nil {
		t.Fatalf("load: %v\n%s", err, body)
	}
	return l
}

// render writes a reply on one line: 1, "bulk", +status, -error, nil, [array].
func render(v reply.Value) string {
	switch v = v.RESP2(); v.Kind {
	case reply.Int:
		return strconv.FormatInt(v.Int, 10)
	case reply.Bulk:
		return strconv.Quote(v.Str)
	case reply.Status:
		return "+" + v.Str
	case reply.Error:
		return "-" + v.Str
	case reply.Array:
		parts := make([]string, len(v.Array))
		for i, e := range v.Array {
			parts[i] = render(e)
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return "nil"
}
