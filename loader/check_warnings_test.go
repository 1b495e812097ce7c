package loader_test

import (
	"context"
	"slices"
	"strings"
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

func TestPreflight_warnsAboutPersistenceAndEviction(t *testing.T) {
	t.Parallel()
	lib := bundle("shop", "1.0.0", "buy")
	m := engines.OnPath(t).Start(t)
	client := m.Client(t)
	tests := []struct {
		name   string
		config map[string]string
		want   []string
		part   string
	}{
		{"nothing is saved", nil, []string{"not_persistent"}, "a restart loses the libraries"},
		{"snapshots", map[string]string{"save": "3600 1"}, nil, ""},
		{"an append-only file", map[string]string{"appendonly": "yes"}, nil, ""},
		{"eviction", map[string]string{"save": "3600 1", "maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"}, []string{"eviction"}, "maxmemory-policy allkeys-lru"},
		{"eviction of keys that expire", map[string]string{"save": "3600 1", "maxmemory": "100mb", "maxmemory-policy": "volatile-ttl"}, []string{"eviction"}, "noeviction"},
		{"eviction without a limit", map[string]string{"save": "3600 1", "maxmemory-policy": "allkeys-lru"}, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, value := range map[string]string{"save": "", "appendonly": "no", "maxmemory": "0", "maxmemory-policy": "noeviction"} {
				if given, ok := tt.config[name]; ok {
					value = given
				}
				if err := client.ConfigSet(t.Context(), name, value).Err(); err != nil {
					t.Fatal(err)
				}
			}
			p := plan(t, client, lib)
			equal(t, "warnings", tt.want, warnings(p))
			if len(tt.want) > 0 && !strings.Contains(p.Nodes[0].Warnings[0].String(), tt.part) {
				t.Errorf("warning does not say %q: %s", tt.part, p.Nodes[0].Warnings[0])
			}
		})
	}
}

func TestPreflight_silentWithoutConfigPermission(t *testing.T) {
	t.Parallel()
	m := engines.OnPath(t).Start(t)
	admin := m.Client(t)
	if err := admin.Do(t.Context(), "ACL", "SETUSER", "deployer", "on", ">p", "+function|list", "+function|load", "+info").Err(); err != nil {
		t.Fatal(err)
	}
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
	if err := replica.Client(t).FunctionDelete(t.Context(), "shop_v1").Err(); err != nil {
		t.Fatal(err)
	}
	now := planOf(t, target, lib)
	equal(t, "warnings", []string{"replica_differs"}, warnings(now))
	r, err := target.Apply(t.Context(), now, loader.ApplyOptions{ReplicaTimeout: 1})
	says(t, err, loader.ErrReplication, "verify shop_v1 on "+replica.Addr, "its primary "+primary.Addr+" holds 1.0.0, and this replica holds missing")
	equal(t, "outcomes", map[string][]string{primary.Addr: {"same"}, replica.Addr: {"failed replication"}}, byNode(r))
	equal(t, "outcomes of a retire", map[string][]string{primary.Addr: {"deleted"}, replica.Addr: {"already_missing"}}, byNode(retire(t, primary.Client(t), "shop_v1")))
	put(t, replica.Client(t), lib.Code)
	retired, err := target.PlanRetire(t.Context(), "shop_v1")
	equal(t, "error", nil, err)
	_, err = target.Apply(t.Context(), retired, loader.ApplyOptions{ReplicaTimeout: 1})
	says(t, err, loader.ErrReplication, "verify shop_v1 on "+replica.Addr, "its primary "+primary.Addr+" holds the tombstone, and this replica holds 1.0.0;")

	// A replica that hears nothing keeps its connection for a while: the primary still names it.
	replica.Pause(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*shortly) // of which the replica takes half
	defer cancel()
	paused, err := target.Plan(ctx, lib)
	replica.Resume(t)
	equal(t, "error", nil, err)
	equal(t, "warnings", []string{"replica_unread", "retired"}, warnings(paused))
	equal(t, "plan", map[string][]string{primary.Addr: {"load"}, replica.Addr: {"follow"}}, actions(paused))
}

func TestPreflight_warnsAboutClusterHealth(t *testing.T) {
	t.Parallel()
	c := engines.OnPath(t).StartCluster(t, 2, 0, "--cluster-require-full-coverage", "no", "--appendonly", "yes")
	lib := bundle("shop", "1.0.0", "buy")
	target := loader.NewTarget(c.Client(t))
	equal(t, "warnings", []string(nil), warnings(planOf(t, target, lib)))

	first, second := c.Primaries[0], c.Primaries[1]
	if err := first.Client(t).Do(t.Context(), "CLUSTER", "SETSLOT", 7, "MIGRATING", second.ClusterID(t)).Err(); err != nil {
		t.Fatal(err)
	}
	p := planOf(t, target, lib)
	equal(t, "warnings", []string{"slots_moving"}, warnings(p))
	if !strings.Contains(p.Warnings[0].Text, "at "+first.Addr+": 7 to "+second.ClusterID(t)) {
		t.Errorf("warning is %s", p.Warnings[0].Text)
	}
	if err := first.Client(t).Do(t.Context(), "CLUSTER", "SETSLOT", 7, "STABLE").Err(); err != nil {
		t.Fatal(err)
	}
	for _, m := range slices.Backward(c.Primaries) { // the slot's owner first: until then its pings give the slot back
		if err := m.Client(t).Do(t.Context(), "CLUSTER", "DELSLOTS", 16383).Err(); err != nil {
			t.Fatal(err)
		}
	}
	p = planOf(t, target, lib)
	equal(t, "warnings", []string{"slots_uncovered"}, warnings(p))
	if !strings.Contains(p.Warnings[0].Text, "1 of 16384 hash slots have no working primary, the first is slot 16383") {
		t.Errorf("warning is %s", p.Warnings[0].Text)
	}
}

func TestPreflight_warnsAboutMixedVersions(t *testing.T) {
	t.Parallel()
	m := engines.OnPath(t).Start(t, "--save", "3600 1")
	other := newFakeServer(t, answers("redis_version:99.0.0\r\nrole:master\r\n", nil))
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": m.Addr, "b": other.addr}})
	defer ring.Close()
	p := planOf(t, loader.NewTarget(ring), bundle("shop", "1.0.0", "buy"))
	equal(t, "warnings", []string{"versions_differ"}, warnings(p))
	if !strings.Contains(p.Warnings[0].Text, "Redis 99.0.0 ("+other.addr+")") {
		t.Errorf("warning is %s", p.Warnings[0].Text)
	}
}
