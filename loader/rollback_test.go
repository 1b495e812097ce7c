package loader_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

func deploy(t *testing.T, client redis.UniversalClient, by string, lib *fcall.Library) {
	t.Helper()
	if _, err := apply(client, plan(t, client, lib), as(by)); err != nil {
		t.Fatal(err)
	}
}

// rollback rolls back and returns the steps of its plan.
func rollback(t *testing.T, client redis.UniversalClient, o loader.RollbackOptions) []string {
	t.Helper()
	target := loader.NewTarget(client)
	p, err := target.PlanRollback(t.Context(), "shop_v1", o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := target.Apply(t.Context(), p, as("nora")); err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, n := range p.Nodes {
		for _, s := range n.Steps {
			steps = append(steps, s.String())
		}
	}
	return steps
}

func TestRollback_restoresPreviousRelease(t *testing.T) {
	v10, v11 := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy", "sell")
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		deploy(t, client, "anna", v10)
		deploy(t, client, "bert", v11)
		equal(t, "steps", []string{"downgrade 1.1.0 -> 1.0.0"}, rollback(t, client, loader.RollbackOptions{}))
		equal(t, "code", v10.Code, held(t, client, "shop_v1"))

		// A plan of what was rolled back warns.
		p := plan(t, client, v11)
		if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].Text, "shop_v1 1.1.0 was rolled back to 1.0.0 on 20") || !strings.Contains(p.Warnings[0].Text, "by nora") {
			t.Errorf("warnings: %+v", p.Warnings)
		}
		// A second rollback does not bring back what was bad.
		_, err := loader.NewTarget(client).PlanRollback(t.Context(), "shop_v1", loader.RollbackOptions{})
		says(t, err, loader.ErrNoRecord, "rollback shop_v1: 1.0.0 is the first recorded release", "recorded: ", "--from DIR", "rlfunc retire shop_v1")

		// And back, on purpose.
		equal(t, "steps", []string{"upgrade 1.0.0 -> 1.1.0"}, rollback(t, client, loader.RollbackOptions{To: "1.1.0"}))
		equal(t, "code", v11.Code, held(t, client, "shop_v1"))
		equal(t, "warnings", 0, len(plan(t, client, v11).Warnings))

		equal(t, "history", []string{
			"deploy by anna done: shop_v1 >1.0.0 loaded",
			"deploy by bert done: shop_v1 1.0.0>1.1.0 upgraded",
			"rollback by nora done: shop_v1 1.1.0>1.0.0 downgraded",
			"rollback by nora done: shop_v1 1.0.0>1.1.0 upgraded",
		}, story(t, client))
	})
}

func TestRollback_followsOrderOfDeploys(t *testing.T) {
	v10, v11, v12 := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy"), bundle("shop", "1.2.0", "buy")
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		for _, lib := range []*fcall.Library{v10, v11} {
			deploy(t, client, "anna", lib)
		}
		rollback(t, client, loader.RollbackOptions{})
		deploy(t, client, "anna", v12)
		equal(t, "steps", []string{"downgrade 1.2.0 -> 1.0.0"}, rollback(t, client, loader.RollbackOptions{}))
	})
}

func TestRollback_restoresUnrecordedRelease(t *testing.T) {
	v10, v11 := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy")
	hotfix := edited(v11, "return '1.1.0'", "return 'a hotfix'")
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		put(t, client, v10.Code) // by Ensure, or by hand
		deploy(t, client, "anna", v11)
		equal(t, "steps", []string{"downgrade 1.1.0 -> 1.0.0"}, rollback(t, client, loader.RollbackOptions{}))
		equal(t, "code", v10.Code, held(t, client, "shop_v1"))

		// Other bytes of the same version are a release of their own.
		put(t, client, hotfix.Code)
		if _, err := apply(client, plan(t, client, v11), loader.ApplyOptions{ReplaceDrifted: true}); err != nil {
			t.Fatal(err)
		}
		target := loader.NewTarget(client)
		p, err := target.PlanRollback(t.Context(), "shop_v1", loader.RollbackOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = target.Apply(t.Context(), p, loader.ApplyOptions{}) // does not replace other bytes of the same version silently
		says(t, err, loader.ErrDrifted, "differs from the release to restore, first at ", "; replace it with --replace-drifted, or choose another release with --to")
		if _, err := target.Apply(t.Context(), p, loader.ApplyOptions{ReplaceDrifted: true}); err != nil {
			t.Fatal(err)
		}
		equal(t, "code", hotfix.Code, held(t, client, "shop_v1"))
	})
}

func TestRollback_errorWithoutRecordSaysWhatToDo(t *testing.T) {
	v10, v11 := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy")
	onEngines(t, func(t *testing.T, e engines.Engine, _ *redis.Client) {
		tests := []struct {
			name   string
			before func(*redis.Client)
			to     string
			parts  []string
		}{
			{"nothing there", func(*redis.Client) {}, "", []string{"no node holds it", "no release is recorded", "deploy"}},
			{"loaded by something else", func(c *redis.Client) { put(t, c, v11.Code) }, "", []string{"1.1.0 is loaded, but no deploy has recorded it", "FLUSHALL", "rlfunc rollback shop_v1 --from DIR"}},
			{"flushed", func(c *redis.Client) {
				deploy(t, c, "anna", v10)
				deploy(t, c, "anna", v11)
				c.FlushAll(t.Context())
			}, "", []string{"no deploy has recorded it", "FLUSHALL", "--from DIR"}},
			{"a release that is not recorded", func(c *redis.Client) { deploy(t, c, "anna", v11) }, "1.0.7", []string{"release 1.0.7 is not recorded", "recorded: 1.1.0", "--from DIR"}},
			{"only the first", func(c *redis.Client) { deploy(t, c, "anna", v11) }, "", []string{"1.1.0 is the first recorded release"}},
			{"the source is lost", func(c *redis.Client) {
				deploy(t, c, "anna", v10)
				deploy(t, c, "anna", v11)
				c.Del(t.Context(), "rlfunc:{deploy}:code")
			}, "", []string{"release 1.0.0 is recorded, but its source is lost", "--from DIR"}},
			{"the release before is trimmed", func(c *redis.Client) {
				deploy(t, c, "anna", v10)
				deploy(t, c, "anna", v11)
				c.HDel(t.Context(), "rlfunc:{deploy}:releases", v10.Digest())
			}, "", []string{"1.1.0 replaced 1.0.0, which is no longer recorded"}},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				client := e.Client(t)
				tt.before(client)
				_, err := loader.NewTarget(client).PlanRollback(t.Context(), "shop_v1", loader.RollbackOptions{To: tt.to})
				says(t, err, loader.ErrNoRecord, append(tt.parts, "rollback shop_v1: ")...)
			})
		}
		// With the older source there is a way.
		client := e.Client(t)
		put(t, client, v11.Code)
		equal(t, "steps", []string{"downgrade 1.1.0 -> 1.0.0"}, rollback(t, client, loader.RollbackOptions{From: v10}))
		equal(t, "code", v10.Code, held(t, client, "shop_v1"))
		_, err := loader.NewTarget(client).PlanRollback(t.Context(), "shop_v1", loader.RollbackOptions{From: bundle("other", "1.0.0", "look")})
		says(t, err, loader.ErrLibrary, "the given library is other_v1")
		// Its plan is not one of a deploy.
		p, err := loader.NewTarget(client).PlanRollback(t.Context(), "shop_v1", loader.RollbackOptions{From: v10})
		if err != nil {
			t.Fatal(err)
		}
		_, err = loader.ReadPlan(encode(t, p), v10)
		says(t, err, loader.ErrPlan, "plan of a rollback")
	})
}

func TestReleases_areTheNewestTenOfEachLibrary(t *testing.T) {
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		other := bundle("other", "1.0.0", "look")
		deploy(t, client, "anna", other)
		versions := []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0", "1.7.0", "1.8.0", "1.9.0", "1.10.0", "1.11.0"}
		for _, v := range versions {
			deploy(t, client, "bert", bundle("shop", v, "buy"))
			if e.Clock != nil {
				e.Clock.Advance(1e9)
			}
		}
		releases, err := loader.NewTarget(client).Releases(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range releases {
			got = append(got, r.Library+" "+r.Version+" by "+r.By)
			if r.At.IsZero() || r.Digest == "" || r.Library == "shop_v1" && r.Replaced == "" {
				t.Errorf("release %+v", r)
			}
		}
		want := []string{"other_v1 1.0.0 by anna"}
		for i := len(versions) - 1; i >= 2; i-- {
			want = append(want, "shop_v1 "+versions[i]+" by bert")
		}
		equal(t, "releases", want, got)
		equal(t, "sources", int64(11), client.HLen(t.Context(), "rlfunc:{deploy}:code").Val())
		equal(t, "steps", []string{"downgrade 1.11.0 -> 1.2.0"}, rollback(t, client, loader.RollbackOptions{To: "1.2.0"}))
	})
}
