package fallback

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
)

// NewLocal starts an embedded engine whose keys use at most the given heap. It evicts the least recently used keys.
func NewLocal(namespace string, bytes int64, clock embedded.Clock) (*guard.Client, error) {
	server := embedded.New(embedded.Options{Clock: clock})
	ctx := context.Background()
	run := func(cmd redis.Cmder) error {
		if err := server.Process(ctx, cmd); err != nil {
			return fmt.Errorf("start the local engine: %w", err)
		}
		return nil
	}
	if err := run(redis.NewStringCmd(ctx, "function", "load", guard.Library.Code)); err != nil {
		return nil, err
	}
	if err := run(redis.NewStatusCmd(ctx, "config", "set", "maxmemory", server.UsedMemory()+bytes, "maxmemory-policy", "allkeys-lru")); err != nil {
		return nil, err
	}
	client, err := guard.New(server, fcall.Options{Namespace: namespace, Mode: fcall.ModeFunctions, NoAutoLoad: true})
	if err != nil {
		return nil, fmt.Errorf("start the local engine: %w", err)
	}
	return client, nil
}
