package loader_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

func TestCluster_finishesAfterNodeWasDown(t *testing.T) {
	t.Parallel()
	c := engines.OnPath(t).StartCluster(t, 3, 0, "--cluster-require-full-coverage", "no") // or the others refuse the records, too, after a while
	down := c.Primaries[1]
	lib := bundle("shop", "1.0.0", "buy")
	target := loader.NewTarget(c.Client(t))
	down.Kill()

	p := planOf(t, target, lib)
	want := actionsOf(c, "load", "")
	want[down.Addr] = []string{"unusable"}
	equal(t, "plan", want, actions(p))
	r, err := target.Apply(t.Context(), p, loader.ApplyOptions{})
	says(t, err, loader.ErrUnreachable, "deploy shop_v1 on "+down.Addr)
	equal(t, "result", (*loader.Result)(nil), r)

	// On purpose, the others are loaded; the result says what holds where.
	r, err = target.Apply(t.Context(), p, loader.ApplyOptions{Partial: true})
	says(t, err, loader.ErrUnreachable, "deploy shop_v1 on "+down.Addr)
	outcomes := outcomesOf(c, "loaded", "")
	outcomes[down.Addr] = []string{"skipped unreachable"}
	equal(t, "outcomes", outcomes, byNode(r))

	// It is back, and another run finishes.
	down.Restart(t)
	c.Await(t)
	r, err = target.Apply(t.Context(), planOf(t, target, lib), loader.ApplyOptions{})
	equal(t, "error", nil, err)
	outcomes = outcomesOf(c, "same", "")
	outcomes[down.Addr] = []string{"loaded"}
	equal(t, "outcomes", outcomes, byNode(r))
}

func TestCluster_rejectsSavedPlanOfOtherPrimaries(t *testing.T) {
	t.Parallel()
	c := engines.OnPath(t).StartCluster(t, 2, 1)
	lib := bundle("shop", "1.0.0", "buy")
	target := loader.NewTarget(c.Client(t))
	text, err := json.Marshal(planOf(t, target, lib))
	if err != nil {
		t.Fatal(err)
	}
	saved, err := loader.ReadPlan(text, lib)
	if err != nil {
		t.Fatal(err)
	}

	// The replica takes the place of the first primary.
	old, now := c.Primaries[0], c.Replicas[0]
	now.TakeOver(t)
	old.AwaitInfo(t, "role:slave", "master_link_status:up")
	c.Primaries[0], c.Replicas[0] = now, old
	c.Await(t)
	_, err = target.Apply(t.Context(), saved, loader.ApplyOptions{})
	says(t, err, loader.ErrChanged, now.Addr+" was no primary of this target when the plan was made", "nothing was changed")

	// A replica more or less is none of the plan's business.
	p := planOf(t, target, lib)
	p.Nodes = slices.DeleteFunc(p.Nodes, func(n loader.NodeSteps) bool { return n.Addr == old.Addr })
	_, err = target.Apply(t.Context(), p, loader.ApplyOptions{})
	equal(t, "error", nil, err)
}
