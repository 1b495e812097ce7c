package fcall

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// A command is one FCALL. go-redis sends a command whose NoRetry is true at most once where it may have run; it still
// follows MOVED and ASK, which prove that nothing ran.
type command struct {
	*redis.Cmd
	once bool
}

func newCommand(ctx context.Context, fn *Function, args []any) *command {
	return &command{Cmd: redis.NewCmd(ctx, args...), once: !fn.ReadOnly}
}

// NoRetry tells go-redis not to send this command again by itself.
func (c *command) NoRetry() bool { return c.once }
