package luahost

import (
	"strconv"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
)

// fakeHost answers the few commands of the tests without a keyspace: {k}s holds a
// string, every other key is missing.
type fakeHost struct{ logs []string }

func (h *fakeHost) Call(args []string) resp.Value {
	switch strings.ToUpper(args[0]) {
	case "ECHO":
		return resp.Text(args[1])
	case "PING":
		return resp.Simple("PONG")
	case "SET":
		return resp.OK
	case "GET":
		if args[1] == "{k}s" {
			return resp.Text("1763706467123456")
		}
		return resp.Null
	case "LPUSH":
		return resp.Err("WRONGTYPE Operation against a key holding the wrong kind of value")
	case "MGET":
		values := []resp.Value{}
		for _, key := range args[1:] {
			values = append(values, h.Call([]string{"GET", key}))
		}
		return resp.List(values...)
	case "TIME":
		return resp.List(resp.Text("1763706467"), resp.Text("123456"))
	case "PANIC":
		panic("host bug")
	}
	return resp.Err("ERR Unknown Redis command called from script")
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
func render(v resp.Value) string {
	switch v = v.RESP2(); v.Kind {
	case resp.Int:
		return strconv.FormatInt(v.Int, 10)
	case resp.Bulk:
		return strconv.Quote(v.Str)
	case resp.Status:
		return "+" + v.Str
	case resp.Error:
		return "-" + v.Str
	case resp.Array:
		parts := make([]string, len(v.Array))
		for i, e := range v.Array {
			parts[i] = render(e)
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return "nil"
}
