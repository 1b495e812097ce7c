package guard

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
)

// newLocal starts an engine in this process that holds at most so many bytes.
func newLocal(namespace string, bytes int64, clock embedded.Clock) (backend, error) {
	server := embedded.New(embedded.Options{Clock: clock})
	ctx := context.Background()
	for _, cmd := range []redis.Cmder{
		redis.NewStatusCmd(ctx, "config", "set", "maxmemory", bytes),
		redis.NewStringCmd(ctx, "function", "load", guard.Library.Code),
	} {
		if err := server.Process(ctx, cmd); err != nil {
			return nil, fmt.Errorf("start the local engine: %w", err)
		}
	}
	o := fcall.Options{Namespace: namespace, Mode: fcall.ModeFunctions, NoHeal: true}
	client, err := guard.New(server, o)
	if err != nil {
		return nil, fmt.Errorf("start the local engine: %w", err)
	}
	return oneByOne{client}, nil
}
