package loader_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/loader"
)

// onlyAt returns hooks of one address.
func onlyAt(at string, hook redis.Hook) func(string) redis.Hook {
	return func(addr string) redis.Hook {
		if addr == at {
			return hook
		}
		return nil
	}
}

// The client visits one node after the other, and is interrupted at the second one's last command.
func TestApply_interruptionStopsBetweenNodes(t *testing.T) {
	first, second := bundle("shop", "1.0.0", "buy"), bundle("other", "1.0.0", "look")
	_, slots := primaries(t, 3)
	addrs := []string{slots[0].Nodes[0].Addr, slots[1].Nodes[0].Addr, slots[2].Nodes[0].Addr}
	slices.Sort(addrs)
	ctx, cancel := context.WithCancel(t.Context())
	slow := withSlots(slots, loader.OneByOne, onlyAt(addrs[1], &between{words: atLoad, run: cancel}))
	defer slow.Close()
	target := loader.NewTarget(slow)
	p := planOf(t, target, first, second)
	r, err := target.Apply(ctx, p, as("anna"))
	says(t, err, loader.ErrInterrupted, "deploy: interrupted: 2 steps were not tried; run it again to finish")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error does not hold its cause: %v", err)
	}
	equal(t, "outcomes", []string{
		"shop_v1 loaded", "other_v1 loaded", "shop_v1 loaded", "other_v1 loaded", "shop_v1 skipped interrupted", "other_v1 skipped interrupted",
	}, outcomes(r))
	equal(t, "outcome in the history", loader.Partly, history(t, slow)[0].Outcome)
	r, err = target.Apply(t.Context(), p, loader.ApplyOptions{})
	equal(t, "error and changes of the next run", []any{nil, 2}, []any{err, r.Changed()})
}
