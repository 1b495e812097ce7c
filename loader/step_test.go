package loader_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

func TestPlan_comparesByteForByte(t *testing.T) {
	lib := bundle("shop", "1.2.0", "buy", "sell")
	lines := strings.Split(strings.TrimSuffix(lib.Code, "\n"), "\n")
	change := func(old, by string) *fcall.Library { return edited(lib, old, by) }
	older, newer := bundle("shop", "1.1.0", "buy"), bundle("shop", "1.3.0", "buy")
	foreign := &fcall.Library{Code: "#!lua name=shop_v1\nredis.register_function('f', function() return 1 end)"}
	tests := []struct {
		name   string
		before *fcall.Library
		state  loader.State
		found  string
		line   string // the first that differs
	}{
		{"missing", nil, loader.Missing, "", ""},
		{"same", lib, loader.Same, "1.2.0", ""},
		{"one letter", change("_sell'", "_sold'"), loader.Drifted, "1.2.0", "shop.lua:3"},
		{"a carriage return", change("end}\n", "end}\r\n"), loader.Drifted, "1.2.0", "shop.lua:2"},
		{"a newline more", change(lib.Code, lib.Code+"\n"), loader.Drifted, "1.2.0", "shop.lua:4"},
		{"a newline less", change(lib.Code, strings.TrimSuffix(lib.Code, "\n")), loader.Drifted, "1.2.0", "shop.lua:3"},
		{"a line less", change(lines[6]+"\n", ""), loader.Drifted, "1.2.0", "shop.lua:3"},
		{"older", older, loader.Older, "1.1.0", ""},
		{"newer", newer, loader.Newer, "1.3.0", ""},
		{"foreign", foreign, loader.Foreign, "", ""},
	}
	onEngines(t, func(t *testing.T, e engines.Engine, _ *redis.Client) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				client := e.Client(t)
				want := loader.Step{Library: "shop_v1", State: tt.state, To: "1.2.0", From: tt.found}
				if tt.before != nil {
					put(t, client, tt.before.Code)
					want.FromDigest = tt.before.Digest()
				}
				p := plan(t, client, lib)
				got := p.Nodes[0].Steps[0]
				if tt.line != "" && !strings.Contains(got.Problem.Text, "first at functions/shop/"+tt.line+";") {
					t.Errorf("problem is %s", got.Problem)
				}
				got.Action, got.Problem = "", nil
				equal(t, "step", want, got)
				equal(t, "same", tt.state == loader.Same, p.Same())
			})
		}
	})
}

func TestCheck_supportsBothProtocols(t *testing.T) {
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		lib := bundle("shop", "1.2.0", "sell", "buy")
		put(t, client, lib.Code)
		put(t, client, "#!lua name=alien\nredis.register_function('one', function() return 1 end)")
		for _, protocol := range []int{2, 3} {
			state := check(t, e.Connect(t, func(o *redis.Options) { o.Protocol = protocol }))
			if len(state.Libraries) != 2 {
				t.Fatalf("libraries: %+v", state.Libraries)
			}
			state.Libraries[0].Digest, state.Libraries[0].Code = "", ""
			equal(t, "libraries", []loader.LoadedLibrary{
				{ServerName: "alien", Functions: []string{"one"}},
				{
					ServerName: "shop_v1", Name: "shop", Version: "1.2.0",
					Functions: []string{"shop_v1_buy", "shop_v1_sell"}, Digest: lib.Digest(), Code: lib.Code,
				},
			}, state.Libraries)
		}
	})
}

func TestCheck_ignoresUnknownFields(t *testing.T) {
	function := bulk("name") + bulk("f") + bulk("cost") + ":7\r\n"
	for name, list := range map[string]string{
		"RESP2": "*1\r\n*10\r\n" + bulk("future") + "*1\r\n:1\r\n" + bulk("library_name") + bulk("x") + bulk("engine") + bulk("LUA") +
			bulk("functions") + "*1\r\n*4\r\n" + function + bulk("library_code") + bulk("code"),
		"RESP3": "*1\r\n%5\r\n" + bulk("future") + "~1\r\n:1\r\n" + bulk("library_name") + bulk("x") + bulk("engine") + bulk("LUA") +
			bulk("functions") + "*1\r\n%2\r\n" + function + bulk("library_code") + bulk("code"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newFakeServer(t, answers("redis_version:9.9.9\r\nrole:master\r\n", map[string]string{"FUNCTION LIST": list}))
			state := check(t, impatient(t, s.addr))
			if state.Problem != nil || len(state.Libraries) != 1 {
				t.Fatalf("state is %+v", state)
			}
			equal(t, "functions", []string{"f"}, state.Libraries[0].Functions)
			equal(t, "commands", []string{"INFO", "FUNCTION LIST", "FUNCTION LOAD"}, s.served())
		})
	}
}
