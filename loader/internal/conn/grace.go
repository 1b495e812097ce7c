package conn

import (
	"context"
	"time"
)

// grace is how long started work may continue after an interruption.
const grace = 2 * time.Second

// WithGrace returns a context for work that has started: it ends 2 s after ctx.
func WithGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return longer, func() {
		stop()
		cancel()
	}
}

// ForCleanup returns a context for the last steps of an operation: WithGrace, and at most 10 s.
func ForCleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := WithGrace(ctx)
	bounded, cancelBounded := context.WithTimeout(longer, 10*time.Second)
	return bounded, func() {
		cancelBounded()
		cancel()
	}
}
