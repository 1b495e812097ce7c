package loader_test

import (
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader"
)

// requiring returns a library that requires servers.
func requiring(servers string) *fcall.Library {
	return edited(bundle("shop", "1.0.0", "buy"), " version=1.0.0", " version=1.0.0 requires="+servers)
}

func TestRequires_refusesOtherServers(t *testing.T) {
	const valkey = "redis_version:7.2.4\r\nvalkey_version:8.1.1\r\nrole:master\r\n"
	for _, tt := range []struct{ name, info, requires, why string }{
		{"older", "redis_version:7.2.4\r\nrole:master\r\n", "redis-7.4,valkey-8.0", "shop_v1 1.0.0 requires Redis 7.4 or Valkey 8.0 or later, and this is Redis 7.2.4"},
		{"older Valkey", valkey, "redis-7.0,valkey-9.0", "requires Redis 7.0 or Valkey 9.0 or later, and this is Valkey 8.1.1"},
		{"another product", valkey, "redis-7.0", "requires Redis 7.0 or later, and this is Valkey 8.1.1"},
		{"a product that is neither", "redis_version:7.4.0\r\nkvrocks_version:2.11.0\r\nrole:master\r\n", "redis-7.0", "and this is Kvrocks 2.11.0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lib := requiring(tt.requires)
			for held, list := range map[string]string{"missing": "*0\r\n", "loaded": ""} {
				special := map[string]string{"FUNCTION LIST": list}
				if held == "loaded" {
					special["FUNCTION LIST"] = "*1\r\n*8\r\n" + bulk("library_name") + bulk("shop_v1") + bulk("engine") + bulk("LUA") +
						bulk("functions") + "*0\r\n" + bulk("library_code") + bulk(lib.Code)
				}
				s := newFakeServer(t, answers(tt.info, special))
				client := impatient(t, s.addr)
				p := plan(t, client, lib)
				step := p.Nodes[0].Steps[0]
				if step.Action != "too_old" || !strings.Contains(step.Reason, tt.why) {
					t.Errorf("%s: planned %s, %q", held, step, step.Reason)
				}
				_, err := apply(client, p, loader.ApplyOptions{})
				says(t, err, loader.ErrTooOld, "load shop_v1 on "+s.addr+": ", tt.why)
				_, err = loader.Ensure(t.Context(), client, lib)
				says(t, err, loader.ErrTooOld, "ensure shop_v1 on "+s.addr+": ", tt.why)
				back, err := loader.NewTarget(client).PlanRollback(t.Context(), "shop_v1", loader.RollbackOptions{From: lib})
				if err != nil {
					t.Fatal(err)
				}
				equal(t, "rollback", "too_old", string(back.Nodes[0].Steps[0].Action))
				d, err := loader.NewTarget(client).Diagnose(t.Context(), lib)
				if err != nil {
					t.Fatal(err)
				}
				found := false
				for _, f := range d.Findings {
					found = found || f.ID == "too_old" && f.Severity == loader.Problem && f.Node == s.addr && strings.Contains(f.Text, tt.why)
				}
				if !found {
					t.Errorf("%s: the doctor found %v", held, d.Findings)
				}
			}
		})
	}
}

func TestRequires_refusesPrimaryOfOlderReplica(t *testing.T) {
	replica := newFakeServer(t, answers("redis_version:7.2.4\r\nrole:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:1\r\n", nil))
	host, port, _ := strings.Cut(replica.addr, ":")
	primary := newFakeServer(t, answers("redis_version:7.4.2\r\nrole:master\r\nslave0:ip="+host+",port="+port+",state=online\r\n", nil))
	client, lib := impatient(t, primary.addr), requiring("redis-7.4")
	why := "its replica " + replica.addr + ": shop_v1 1.0.0 requires Redis 7.4 or later, and this is Redis 7.2.4"
	p := plan(t, client, lib)
	equal(t, "steps", []loader.Action{"too_old", "too_old"}, []loader.Action{p.Nodes[0].Steps[0].Action, p.Nodes[1].Steps[0].Action})
	_, err := apply(client, p, loader.ApplyOptions{})
	says(t, err, loader.ErrTooOld, "load shop_v1 on "+primary.addr+": ", why)
	_, err = loader.Ensure(t.Context(), client, lib)
	says(t, err, loader.ErrTooOld, "ensure shop_v1 on "+primary.addr+": ", why)
}

func TestRequires_acceptsEmbeddedServer(t *testing.T) {
	s := embedded.New(embedded.Options{})
	defer s.Close()
	r, err := loader.Ensure(t.Context(), s, requiring("valkey-99.0"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "outcome", loader.Loaded, r.Nodes[0].Steps[0].Outcome)
}
