package loader_test

import (
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

// warnings returns the warning codes of a plan: the target's, then those of each node.
func warnings(p *loader.Plan) []string {
	all := codes(p.Warnings)
	for _, n := range p.Nodes {
		all = append(all, codes(n.Warnings)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// findings returns the codes of what a status finds, without what it tells of clients.
func findings(t *testing.T, target *loader.Target) (all []string) {
	t.Helper()
	s, err := target.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Findings {
		if f.Fix == "" && f.ID != "clients_unknown" && f.Severity == loader.Problem {
			t.Errorf("no fix for %+v", f)
		}
		if f.ID != "clients_unknown" {
			all = append(all, f.ID)
		}
	}
	return all
}

func TestStatus_warnsAboutPersistenceAndEviction(t *testing.T) {
	t.Parallel()
	lib := bundle("shop", "1.0.0", "buy")
	m := engines.OnPath(t).Start(t)
	client := m.Client(t)
	tests := []struct {
		name   string
		config map[string]string
		want   []string
	}{
		{"nothing is saved", nil, []string{"not_persistent"}},
		{"snapshots", map[string]string{"save": "3600 1"}, nil},
		{"an append-only file", map[string]string{"appendonly": "yes"}, nil},
		{"eviction", map[string]string{"save": "3600 1", "maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"}, []string{"eviction"}},
		{"eviction of keys that expire", map[string]string{"save": "3600 1", "maxmemory": "100mb", "maxmemory-policy": "volatile-ttl"}, []string{"eviction"}},
		{"eviction without a limit", map[string]string{"save": "3600 1", "maxmemory-policy": "allkeys-lru"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, value := range map[string]string{"save": "", "appendonly": "no", "maxmemory": "0", "maxmemory-policy": "noeviction"} {
				if given, ok := tt.config[name]; ok {
					value = given
				}
				must(t, client.ConfigSet(t.Context(), name, value).Err())
			}
			equal(t, "findings", tt.want, findings(t, loader.NewTarget(client)))
			equal(t, "warnings of a plan", []string(nil), warnings(plan(t, client, lib)))
		})
	}
}

func TestPreflight_silentWithoutConfigPermission(t *testing.T) {
	t.Parallel()
	m := engines.OnPath(t).Start(t)
	admin := m.Client(t)
	must(t, admin.Do(t.Context(), "ACL", "SETUSER", "deployer", "on", ">p", "+function|list", "+function|load", "+info").Err())
	client := redis.NewClient(&redis.Options{Addr: m.Addr, Username: "deployer", Password: "p", MaxRetries: -1})
	defer client.Close()
	equal(t, "warnings", []string(nil), warnings(plan(t, client, bundle("shop", "1.0.0", "buy"))))
}

func TestPreflight_warnsAboutReplicas(t *testing.T) {
	t.Parallel()
	p := engines.OnPath(t)
	primary := p.Start(t, "--save", "3600 1")
	replica := primary.StartReplica(t, "--replica-read-only", "no")
	lib := bundle("shop", "1.0.0", "buy")
	target := loader.NewTarget(primary.Client(t))
	if _, err := target.Apply(t.Context(), planOf(t, target, lib), loader.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	equal(t, "warnings", []string(nil), warnings(planOf(t, target, lib)))

	// Another tool writes to the replica.
	must(t, replica.Client(t).FunctionDelete(t.Context(), "shop_v1").Err())
	equal(t, "findings", []string{"nodes_differ"}, findings(t, target))
	now := planOf(t, target, lib)
	equal(t, "plan", map[string][]string{primary.Addr: {"same"}, replica.Addr: {"follow"}}, actions(now))
	r, err := target.Apply(t.Context(), now, loader.ApplyOptions{})
	says(t, err, loader.ErrReplication, "verify shop_v1 on "+replica.Addr, "this replica of "+primary.Addr+" holds missing, and its primary holds 1.0.0", "--no-replicas")
	equal(t, "outcomes", map[string][]string{primary.Addr: {"same"}, replica.Addr: {"failed replication"}}, byNode(r))
	equal(t, "unconfirmed", true, r.Unconfirmed())
	equal(t, "outcomes of a retire", map[string][]string{primary.Addr: {"deleted"}, replica.Addr: {"missing"}}, byNode(retire(t, primary.Client(t), "shop_v1")))

	// A replica that hears nothing keeps its connection for a while: the primary still names it.
	replica.Pause(t)
	paused, err := target.Plan(t.Context(), lib)
	replica.Resume(t)
	equal(t, "error", nil, err)
	equal(t, "warnings", []string{"replica_unread"}, warnings(paused))
	equal(t, "plan", map[string][]string{primary.Addr: {"load"}, replica.Addr: {"follow"}}, actions(paused))
	equal(t, "everything is the same", false, paused.Same())
}
