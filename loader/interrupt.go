package loader

import (
	"context"
	"time"
)

// interruptGrace is how long what has begun may take to end after an interruption.
const interruptGrace = 2 * time.Second

// lasting returns a context for what has begun: it ends interruptGrace after ctx.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(interruptGrace, cancel) })
	return longer, func() {
		stop()
		cancel()
	}
}

// ending returns a context for the last that an operation does: it lasts, and for 10 seconds at most.
func ending(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := lasting(ctx)
	bounded, cancelBounded := context.WithTimeout(longer, 10*time.Second)
	return bounded, func() {
		cancelBounded()
		cancel()
	}
}

// interrupted is the error of a step that was not tried.
func interrupted(ctx context.Context, op, library, node string) *Error {
	return &Error{Op: op, Library: library, Node: node, Reason: ErrInterrupted, Cause: ctx.Err(), Text: "not tried: " + plainText(ctx.Err())}
}
