package loader_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

func TestRetire_removesAndRollbackRestores(t *testing.T) {
	lib, next := bundle("shop", "1.1.0", "buy"), bundle("other", "1.0.0", "look")
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		target := loader.NewTarget(client)
		deploy(t, client, "anna", lib)
		deploy(t, client, "anna", next)
		equal(t, "outcomes", []string{"shop_v1 deleted"}, outcomes(retire(t, client, "shop_v1")))
		equal(t, "codes", []string{"", next.Code}, []string{held(t, client, "shop_v1"), held(t, client, "other_v1")})
		equal(t, "outcomes of another", []string{"shop_v1 missing"}, outcomes(retire(t, client, "shop_v1")))

		// What was retired comes back from its record, and a service that starts loads it, too.
		_, err := target.PlanRollback(t.Context(), "shop_v1", loader.RollbackOptions{})
		says(t, err, loader.ErrNoRecord, "no node holds it", "recorded: 1.1.0", "--to")
		equal(t, "steps", []string{"load 1.1.0"}, rollback(t, client, loader.RollbackOptions{To: "1.1.0"}))
		equal(t, "code", lib.Code, held(t, client, "shop_v1"))
		equal(t, "history", []string{
			"deploy by anna done: shop_v1 >1.1.0 loaded",
			"deploy by anna done: other_v1 >1.0.0 loaded",
			"retire by unknown done: shop_v1 1.1.0> deleted",
			"rollback by nora done: shop_v1 >1.1.0 loaded",
		}, story(t, client))
		retire(t, client, "shop_v1")
		if _, err := loader.Ensure(t.Context(), client, lib); err != nil {
			t.Fatal(err)
		}
		equal(t, "code", lib.Code, held(t, client, "shop_v1"))
	})
}

func TestRetire_refusesWhileInUse(t *testing.T) {
	lib := bundle("shop", "1.1.0", "buy")
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		if !strings.Contains(client.ClientList(t.Context()).Val(), "lib-name=") {
			t.Skip("the server does not tell the names of libraries in CLIENT LIST")
		}
		target := loader.NewTarget(client)
		deploy(t, client, "anna", lib)
		for _, name := range []string{"checkout", "checkout", "billing"} {
			service := e.Connect(t, func(o *redis.Options) { o.ClientName, o.IdentitySuffix = name, fcall.Identity(lib) })
			must(t, service.Ping(t.Context()).Err())
		}
		p, err := target.PlanRetire(t.Context(), "shop_v1")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range p.Clients {
			names = append(names, fmt.Sprint(c.Library, " ", c.Version, " ", c.Name, " ", c.Count))
		}
		equal(t, "clients", []string{"shop_v1 1.1.0 billing 1", "shop_v1 1.1.0 checkout 2"}, names)
		_, err = target.Apply(t.Context(), p, loader.ApplyOptions{})
		says(t, err, loader.ErrInUse, "retire shop_v1: connected clients use it: billing at ", "(1.1.0)", "nothing was deleted")
		equal(t, "code", lib.Code, held(t, client, "shop_v1"))
		r, err := target.Apply(t.Context(), p, loader.ApplyOptions{Force: true, By: "nora"})
		equal(t, "error and outcome", []any{nil, []string{"shop_v1 deleted"}}, []any{err, outcomes(r)})
		equal(t, "clients in the history", 2, len(history(t, client)[0].Forced))
	})
}

// Names are chosen by clients: they are escaped and bounded. A server that does not tell is named, and nothing else fails.
func TestClients_areReadFromClientList(t *testing.T) {
	line := func(name, lib string) string {
		return "id=3 addr=10.0.0.7:53122 laddr=10.0.0.1:6379 name=" + name + " db=0 lib-name=" + lib + " lib-ver=9.22.0\n"
	}
	long := "go-redis(shop_v1@1.2.0+" + strings.Repeat("x", 1<<20) + ",go1.26)"
	for _, tt := range []struct{ name, reply, want, unknown string }{
		{"go-redis", bulk(line("checkout", "go-redis(shop_v1@1.2.0+cost_v1@1.0.0,go1.26)")), "cost_v1 1.0.0 checkout 10.0.0.7 1, shop_v1 1.2.0 checkout 10.0.0.7 1", ""},
		{"redis-py and node-redis", bulk(line("", "redis-py(shop_v1@1.2.0)") + line("", "node-redis(shop_v1@1.2.0)")), "shop_v1 1.2.0  10.0.0.7 2", ""},
		{"others", bulk(line("x", "") + line("y", "lettuce")), "", ""},
		{"a hostile name", bulk(line("a\x1b[2J\xff"+strings.Repeat("b", 200), "shop_v1@1.2.0")), `shop_v1 1.2.0 a\x1b[2J` + strings.Repeat("b", 55) + "... 10.0.0.7 1", ""},
		{"hostile libraries", bulk(line("z", "go-redis(\x1b[2J@1.0.0+shop_v1@\x1b,go1)") + line("z", long) + "\n\nname=x\n=\n"), "shop_v1 1.2.0 z 10.0.0.7 1", ""},
		{"before 7.2", bulk("id=3 addr=10.0.0.7:53122 name=x db=0\n"), "", "only Redis 7.2, Valkey 7.2 and later tell"},
		{"not permitted", "-NOPERM this user has no permissions to run the 'client|list' command\r\n", "", "it answered CLIENT LIST with NOPERM this user has no permissions to run the 'client|list' ..."},
		{"renamed away", "-ERR unknown command 'CLIENT', with args beginning with: \x1b\r\n", "", `it answered CLIENT LIST with ERR unknown command 'CLIENT', with args beginning with: \x1b`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newFakeServer(t, answers("redis_version:7.2.0\r\nrole:master\r\n", map[string]string{"CLIENT": tt.reply}))
			clients, warnings, err := loader.NewTarget(impatient(t, s.addr)).Clients(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range clients {
				got = append(got, fmt.Sprint(c.Library, " ", c.Version, " ", c.Name, " ", c.Host, " ", c.Count))
			}
			equal(t, "clients", tt.want, strings.Join(got, ", "))
			unknown := ""
			for _, w := range warnings {
				unknown += w.Text
			}
			if (tt.unknown == "") != (unknown == "") || !strings.HasSuffix(unknown, tt.unknown) {
				t.Errorf("unknown: %q, want %q", unknown, tt.unknown)
			}
		})
	}
}

func TestRetire_keepsForeignLibraries(t *testing.T) {
	foreign := &fcall.Library{ServerName: "legacy_v1", Code: "#!lua name=legacy_v1\nredis.register_function('legacy', function() return 1 end)"}
	pretender := edited(bundle("shop", "1.0.0", "buy"), "name=shop_v1", "name=legacy_v1")
	onEngines(t, func(t *testing.T, e engines.Engine, _ *redis.Client) {
		for name, lib := range map[string]*fcall.Library{"without metadata": foreign, "with the metadata of another library": pretender} {
			t.Run(name, func(t *testing.T) {
				client := e.Client(t)
				put(t, client, lib.Code)
				target := loader.NewTarget(client)
				p, err := target.PlanRetire(t.Context(), "legacy_v1")
				if err != nil {
					t.Fatal(err)
				}
				equal(t, "state", "foreign", stands(p.Nodes[0].Steps[0]))
				_, err = target.Apply(t.Context(), p, loader.ApplyOptions{Force: true})
				says(t, err, loader.ErrConflict, "retire legacy_v1 on "+e.Addr, "was not generated by rlfunc", "nothing was deleted")
				equal(t, "code", lib.Code, held(t, client, "legacy_v1"))
			})
		}
		// Nor what took the place of ours after the plan.
		ours := bundle("shop", "1.0.0", "buy")
		t.Run("that came after the plan", func(t *testing.T) {
			client := e.Client(t)
			put(t, client, ours.Code)
			target := loader.NewTarget(client)
			p, err := target.PlanRetire(t.Context(), "shop_v1")
			if err != nil {
				t.Fatal(err)
			}
			newer := bundle("shop", "1.1.0", "buy")
			put(t, client, newer.Code)
			_, err = target.Apply(t.Context(), p, loader.ApplyOptions{Force: true})
			says(t, err, loader.ErrChanged, "shop_v1 on "+e.Addr+" was planned as delete 1.0.0 and is now delete 1.1.0", "nothing was changed")
			equal(t, "code", newer.Code, held(t, client, "shop_v1"))
		})
	})
}

func retire(t *testing.T, client redis.UniversalClient, serverName string) *loader.Result {
	t.Helper()
	target := loader.NewTarget(client)
	p, err := target.PlanRetire(t.Context(), serverName)
	if err != nil {
		t.Fatal(err)
	}
	r, err := target.Apply(t.Context(), p, loader.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
