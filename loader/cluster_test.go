package loader_test

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

func TestCluster_everyPrimaryIsLoadedAndEveryReplicaVerified(t *testing.T) {
	t.Parallel()
	c := engines.OnPath(t).StartCluster(t, 3, 1)
	empty := c.Join(t, engines.OnPath(t))
	lib := bundle("shop", "1.0.0", "buy")
	target := loader.NewTarget(c.Client(t))

	equal(t, "plan", actionsOf(c, "load", "follow"), actions(planOf(t, target, lib)))
	reported := map[string][]string{}
	r, err := target.Apply(t.Context(), planOf(t, target, lib), loader.ApplyOptions{OnNode: func(n loader.NodeSteps) {
		reported[n.Addr] = append(reported[n.Addr], n.Words())
	}})
	equal(t, "error", nil, err)
	equal(t, "outcomes", outcomesOf(c, "loaded", "followed"), byNode(r))
	equal(t, "results reported meanwhile", outcomesOf(c, "1 loaded", "1 followed"), reported)
	for _, addr := range c.Addrs() {
		equal(t, "code on "+addr, lib.Code, held(t, impatient(t, addr), "shop_v1"))
	}
	equal(t, "code on the primary without slots", lib.Code, held(t, empty.Client(t), "shop_v1"))

	equal(t, "plan afterwards", actionsOf(c, "same", "same"), actions(planOf(t, target, lib)))
	equal(t, "everything is the same", []any{true, 7}, []any{planOf(t, target, lib).Same(), len(planOf(t, target, lib).Nodes)})

	upgraded := bundle("shop", "1.1.0", "buy")
	r, err = target.WithoutReplicas().Apply(t.Context(), planOf(t, target.WithoutReplicas(), upgraded), loader.ApplyOptions{})
	equal(t, "error of an upgrade", nil, err)
	equal(t, "outcomes of an upgrade without replicas", 4, len(r.Nodes))
}

// A primary that lost its libraries gets what the others hold. The older library of an old service would refuse the calls of newer ones there,
// and nothing but a deploy would replace it.
func TestCluster_oldServiceBringsNoOlderLibrary(t *testing.T) {
	t.Parallel()
	c := engines.OnPath(t).StartCluster(t, 3, 0)
	old, young := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy", "sell")
	if _, err := loader.Ensure(t.Context(), c.Client(t), young); err != nil {
		t.Fatal(err)
	}
	emptied := c.Primaries[1].Addr
	must(t, impatient(t, emptied).FunctionDelete(t.Context(), "shop_v1").Err())
	r, err := loader.Ensure(t.Context(), c.Client(t), old)
	equal(t, "error", nil, err)
	want := outcomesOf(c, "newer", "")
	want[emptied] = []string{"loaded"}
	equal(t, "outcomes", want, byNode(r))
	for _, addr := range c.Addrs() {
		equal(t, "code on "+addr, young.Code, held(t, impatient(t, addr), "shop_v1"))
	}
}

func TestCluster_rejectsStandaloneServer(t *testing.T) {
	t.Parallel()
	m := engines.OnPath(t).Start(t)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{m.Addr}})
	defer client.Close()
	_, err := loader.Ensure(context.Background(), client, bundle("shop", "1.0.0", "buy"))
	says(t, err, loader.ErrUnsupported, m.Addr, "cluster support disabled", "redis://")
}

func planOf(t *testing.T, target *loader.Target, libs ...*fcall.Library) *loader.Plan {
	t.Helper()
	p, err := target.Plan(t.Context(), libs...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// stands is what is done about a library, or how it stands.
func stands(s loader.Step) string { return cmp.Or(string(s.Action), string(s.State)) }

// actions returns the actions of a plan by node.
func actions(p *loader.Plan) map[string][]string {
	all := map[string][]string{}
	for _, n := range p.Nodes {
		for _, s := range n.Steps {
			all[n.Addr] = append(all[n.Addr], stands(s))
		}
	}
	return all
}

func actionsOf(c *engines.Cluster, primary, replica string) map[string][]string {
	return ofEach(c, []string{primary}, []string{replica})
}

// byNode returns the outcomes of a result by node.
func byNode(r *loader.Result) map[string][]string {
	all := map[string][]string{}
	for _, n := range r.Nodes {
		for _, s := range n.Steps {
			line := s.Word()
			if s.Problem != nil {
				line += " " + string(s.Problem.Reason)
			}
			all[n.Addr] = append(all[n.Addr], line)
		}
	}
	return all
}

func outcomesOf(c *engines.Cluster, primary, replica string) map[string][]string {
	return ofEach(c, []string{primary}, []string{replica})
}

func ofEach[T any](c *engines.Cluster, primary, replica T) map[string]T {
	all := map[string]T{}
	for _, addr := range c.Addrs() {
		all[addr] = primary
		if slices.ContainsFunc(c.Replicas, func(m *engines.Member) bool { return m.Addr == addr }) {
			all[addr] = replica
		}
	}
	return all
}

func TestCluster_usesClusterSlotsOfClient(t *testing.T) {
	t.Parallel()
	for _, program := range engines.Images(t) {
		t.Run(program.Name, func(t *testing.T) {
			c := program.StartCluster(t, 3, 1)
			empty := c.Join(t, program)
			lib := bundle("shop", "1.0.0", "buy")
			target := open(t, "redis+cluster://"+c.Primaries[1].Addr)
			r, err := target.Apply(t.Context(), planOf(t, target, lib), loader.ApplyOptions{})
			equal(t, "error", nil, err)
			equal(t, "outcomes", outcomesOf(c, "loaded", "followed"), byNode(r))
			equal(t, "code on the primary without slots", lib.Code, held(t, empty.Client(t), "shop_v1"))
			equal(t, "everything is the same", []any{true, 7}, []any{planOf(t, target, lib).Same(), len(planOf(t, target, lib).Nodes)})
		})
	}
}

func TestCluster_warnsAboutMixedVersions(t *testing.T) {
	t.Parallel()
	other := engines.Images(t)[0]
	c := engines.OnPath(t).StartCluster(t, 2, 0, "--appendonly", "yes")
	c.Join(t, other)
	lib := bundle("shop", "1.0.0", "buy")
	target := loader.NewTarget(c.Client(t))
	p := planOf(t, target, lib)
	equal(t, "warnings", []string{"versions_differ"}, warnings(p))
	if found := findings(t, target); !slices.Contains(found, "versions_differ") {
		t.Errorf("status does not say it: %v", found)
	}
	r, err := target.Apply(t.Context(), p, loader.ApplyOptions{})
	equal(t, "error", nil, err)
	equal(t, "outcomes", outcomesOf(c, "loaded", ""), byNode(r))
}
