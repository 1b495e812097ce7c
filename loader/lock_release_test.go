package loader_test

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

// A cutRelease loses the connection of the first transaction that deletes the node's lock, before or after it runs.
type cutRelease struct {
	after bool
	lost  *atomic.Int32
}

func (c cutRelease) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (c cutRelease) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (c cutRelease) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		deletes := false
		for _, cmd := range cmds {
			deletes = deletes || cmd.Name() == "del" && cmd.Args()[1] == lockOfOne
		}
		if !deletes || c.lost.Add(1) > 1 {
			return next(ctx, cmds)
		}
		if c.after {
			if err := next(ctx, cmds); err != nil {
				return err
			}
		}
		for _, cmd := range cmds {
			cmd.SetErr(io.EOF)
		}
		return io.EOF
	}
}

func TestLock_releaseSurvivesALostConnection(t *testing.T) {
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		for i, after := range []bool{false, true} {
			lib := bundle("shop", fmt.Sprintf("1.%d.0", i), "buy")
			cut := e.Connect(t, nil)
			lost := &atomic.Int32{}
			cut.AddHook(cutRelease{after: after, lost: lost})
			_, err := loader.NewTarget(cut).Apply(t.Context(), plan(t, client, lib), loader.ApplyOptions{})
			equal(t, "error", nil, err)
			if lost.Load() == 0 {
				t.Error("no transaction deleted the lock")
			}
			equal(t, "lock", int64(0), client.Exists(t.Context(), lockOfOne).Val())
		}
	})
}
