package loader_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

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

// No service of any version restores a retired library: neither at its start, nor by a call, nor after FLUSHALL.
func TestRetire_staysRetiredUntilADeploy(t *testing.T) {
	newer := *ratelimit.Library
	newer.Version = "1.1.0"
	newer.Code = strings.Replace(newer.Code, "version=1.0.0", "version=1.1.0", 1)
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		deploy(t, client, "anna", &newer)
		retirement, err := loader.NewTarget(client).PlanRetire(t.Context(), "ratelimit_v1")
		equal(t, "error and warnings", []any{nil, []string{"no_announcements"}}, []any{err, codes(retirement.Warnings)})
		r := retire(t, client, "ratelimit_v1")
		equal(t, "outcomes", []string{"ratelimit_v1 deleted"}, outcomes(r))

		for _, lost := range []string{"", "FLUSHALL"} {
			if lost != "" {
				client.FlushAll(t.Context())
			}
			_, err := loader.Ensure(t.Context(), client, ratelimit.Library)
			says(t, err, loader.ErrRetired, "ensure ratelimit_v1 on "+e.Addr+": it was retired at 20", "rlfunc deploy")
			service, err := ratelimit.New(client, fcall.Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = service.GCRA(t.Context(), ratelimit.GCRAParams{Subject: "ann", Limit: 1, Period: 1e9})
			var missing *fcall.NotLoadedError
			if !errors.As(err, &missing) || missing.Cause == nil || !strings.Contains(missing.Cause.Error(), "it was retired at 20") {
				t.Errorf("error of a call is %v", err)
			}
			equal(t, "code", "", held(t, client, "ratelimit_v1"))
		}
		equal(t, "state", loader.Retired, verified(t, loader.NewTarget(client), ratelimit.Library))

		p := plan(t, client, ratelimit.Library)
		equal(t, "step", "load 1.0.0", p.Nodes[0].Steps[0].String())
		equal(t, "warnings of the plan", []string{"retired"}, codes(p.Warnings))
		r, err = apply(client, p, loader.ApplyOptions{})
		equal(t, "error and outcome", []any{nil, []string{"ratelimit_v1 loaded"}}, []any{err, outcomes(r)})
		equal(t, "code", ratelimit.Library.Code, held(t, client, "ratelimit_v1"))
	})
}

func TestRetire_isIdempotentAndRollbackRestores(t *testing.T) {
	lib := bundle("shop", "1.0.0", "buy")
	onEngines(t, func(t *testing.T, _ engines.Engine, client *redis.Client) {
		deploy(t, client, "anna", lib)
		retire(t, client, "shop_v1")
		p, err := loader.NewTarget(client).PlanRetire(t.Context(), "shop_v1")
		equal(t, "error and changes", []any{nil, false}, []any{err, p.Changes()})
		equal(t, "step", "already_missing", p.Nodes[0].Steps[0].String())
		equal(t, "version", "", p.Nodes[0].Steps[0].From)
		// A tombstone that was deleted is put back: what is recorded can be retired again.
		if err := client.FunctionDelete(t.Context(), "shop_v1").Err(); err != nil {
			t.Fatal(err)
		}
		equal(t, "outcomes", []string{"shop_v1 already_missing"}, outcomes(retire(t, client, "shop_v1")))
		_, err = loader.Ensure(t.Context(), client, lib)
		says(t, err, loader.ErrRetired)
		equal(t, "steps", []string{"load 1.0.0"}, rollback(t, client, loader.RollbackOptions{To: "1.0.0"}))
		equal(t, "code", lib.Code, held(t, client, "shop_v1"))
		// A name that nothing is known of is not taken.
		p, err = loader.NewTarget(client).PlanRetire(t.Context(), "shpo_v1")
		equal(t, "error and changes of a wrong name", []any{nil, false}, []any{err, p.Changes()})
	})
}

// A node without the library gets the tombstone too, because the first call there would load the library.
func TestRetire_putsTombstoneOnNodesWithoutLibrary(t *testing.T) {
	lib := bundle("shop", "1.0.0", "buy")
	ring, addrs := ringOf(t, 2, func(string) redis.Hook { return nil })
	deployTo(t, loader.NewTarget(ring), "anna", lib)
	if err := impatient(t, addrs[1]).FunctionDelete(t.Context(), "shop_v1").Err(); err != nil {
		t.Fatal(err)
	}
	equal(t, "outcomes", map[string][]string{addrs[0]: {"deleted"}, addrs[1]: {"already_missing"}}, byNode(retire(t, ring, "shop_v1")))
	_, err := loader.Ensure(t.Context(), impatient(t, addrs[1]), lib)
	says(t, err, loader.ErrRetired)
}

func TestRetire_deletesOtherReleases(t *testing.T) {
	onEngines(t, func(t *testing.T, _ engines.Engine, client *redis.Client) {
		for _, version := range []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0"} {
			deploy(t, client, "anna", bundle("shop", version, "buy"))
		}
		deploy(t, client, "anna", bundle("other", "1.0.0", "look"))
		retire(t, client, "shop_v1")
		releases, err := loader.NewTarget(client).Releases(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, r := range releases {
			left = append(left, r.Library+" "+r.Version)
		}
		// The retired one, and where a rollback from it leads.
		equal(t, "releases", []string{"other_v1 1.0.0", "shop_v1 1.3.0", "shop_v1 1.2.0"}, left)
		equal(t, "sources", int64(3), client.HLen(t.Context(), "rlfunc:{deploy}:code").Val())
	})
}
