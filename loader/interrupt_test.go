package loader_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

func TestApply_interruptionStopsBetweenLoads(t *testing.T) {
	first, second, third := bundle("shop", "1.0.0", "buy"), bundle("other", "1.0.0", "look"), bundle("more", "1.0.0", "see")
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		slow := interrupted(t, e, cancel, atExec...)
		p := plan(t, client, first, second, third)
		r, err := loader.NewTarget(slow).Apply(ctx, p, as("anna"))
		says(t, err, loader.ErrInterrupted, "deploy: interrupted: 2 of 3 steps were not tried; run it again to finish")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error does not hold its cause: %v", err)
		}
		equal(t, "outcomes", []string{"shop_v1 loaded", "other_v1 not_started interrupted", "more_v1 not_started interrupted"}, outcomes(r))
		equal(t, "the first", first.Code, held(t, client, "shop_v1"))
		equal(t, "the second", "", held(t, client, "other_v1"))
		equal(t, "locks", int64(0), client.Exists(t.Context(), leaseOfOne, lockOfOne).Val())
		equal(t, "outcome in the history", loader.Partly, history(t, client)[0].Outcome)

		r, err = apply(client, p, loader.ApplyOptions{})
		equal(t, "error", nil, err)
		equal(t, "outcomes of the next run", []string{"shop_v1 same", "other_v1 loaded", "more_v1 loaded"}, outcomes(r))
	})
}

// ringOf returns a ring of embedded servers; each client of a shard gets the hook that hooks makes for its address, if any.
func ringOf(t *testing.T, n int, hooks func(addr string) redis.Hook) (*redis.Ring, []string) {
	t.Helper()
	var addrs []string
	shards := map[string]string{}
	for range n {
		s := embedded.New(embedded.Options{})
		t.Cleanup(func() { s.Close() })
		addr, err := s.Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, addr.String())
		shards[addr.String()] = addr.String()
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: shards, NewClient: func(o *redis.Options) *redis.Client {
		c := redis.NewClient(o)
		if hook := hooks(o.Addr); hook != nil {
			c.AddHook(hook)
		}
		return c
	}})
	t.Cleanup(func() { ring.Close() })
	return ring, addrs
}

func TestApply_interruptionDoesNotWaitForSilentNode(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	silent := make(chan struct{})
	defer close(silent)
	stuck := ""
	ring, addrs := ringOf(t, 2, func(addr string) redis.Hook {
		return &between{words: atExec, run: func() {
			if addr == stuck {
				cancel()
				<-silent
			}
		}}
	})
	stuck = addrs[0]
	target := loader.NewTarget(ring)
	r, err := target.Apply(ctx, planOf(t, target, bundle("shop", "1.0.0", "buy"), bundle("other", "1.0.0", "look")), as("anna"))
	if !isReason(err, loader.ErrInterrupted) || !isReason(err, loader.ErrOutcomeUnknown) {
		t.Errorf("error is %v", err)
	}
	equal(t, "outcomes on the silent node", []string{"failed outcome_unknown", "not_started interrupted"}, byNode(r)[stuck])
}

func TestRetire_reportsInterruption(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lib := bundle("shop", "1.0.0", "buy")
	armed := false
	ring, _ := ringOf(t, 1, func(string) redis.Hook {
		return &between{words: []string{"RPUSH"}, run: func() {
			if armed {
				cancel()
			}
		}}
	})
	target := loader.NewTarget(ring)
	if _, err := target.Apply(t.Context(), planOf(t, target, lib), loader.ApplyOptions{Stateless: true}); err != nil {
		t.Fatal(err)
	}
	p, err := target.PlanRetire(t.Context(), "shop_v1")
	if err != nil {
		t.Fatal(err)
	}
	armed = true
	_, err = target.Apply(ctx, p, loader.ApplyOptions{})
	if !isReason(err, loader.ErrInterrupted) && !isReason(err, loader.ErrOutcomeUnknown) {
		t.Errorf("error is %v", err)
	}
	equal(t, "state", loader.Same, verified(t, target, lib))
}

func verified(t *testing.T, target *loader.Target, lib *fcall.Library) loader.State {
	t.Helper()
	v, err := target.Verify(t.Context(), lib)
	if err != nil {
		t.Fatal(err)
	}
	return v.Nodes[0].Steps[0].State
}
