package admit

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// A Backend runs the calls of a query, on Redis or on the embedded engine.
type Backend struct {
	Client *guard.Client
	// Share is the part of each limit that the backend enforces.
	Share plan.Share
	// Pipeline sends several calls in one round trip; nil if the backend cannot.
	Pipeline func() redis.Pipeliner
}

// Admit makes the calls one after the other, and appends their answers.
func (b *Backend) Admit(ctx context.Context, calls []plan.Call, answers []Answer) []Answer {
	for i := range calls {
		var a Answer
		a.Result, a.Err = b.Client.Admit(ctx, calls[i].Params)
		answers = append(answers, a)
	}
	return answers
}

// admitPipelined makes all calls in one round trip. A call with an error in skipped is not made and gets that error.
func (b *Backend) admitPipelined(ctx context.Context, calls []plan.Call, skipped []error) []Answer {
	pipe := b.Pipeline()
	pending, answers := make([]guard.PendingAdmit, len(calls)), make([]Answer, len(calls))
	for i := range calls {
		if skipped != nil && skipped[i] != nil {
			answers[i].Err = skipped[i]
			continue
		}
		pending[i] = b.Client.QueueAdmit(ctx, pipe, calls[i].Params)
	}
	_, _ = pipe.Exec(ctx) // each call has its own error
	for i := range pending {
		a := &answers[i]
		if a.Err != nil {
			continue
		}
		if a.Result, a.Err = pending[i].Result(); notRun(a.Err) {
			// fcall never retries a pipeline, but this call ran nothing
			a.Result, a.Err = b.Client.Admit(ctx, calls[i].Params)
		}
	}
	return answers
}

// notRun reports whether a call ran nothing and may succeed by itself: a single call follows cluster redirects and finds a library that was
// loaded meanwhile.
func notRun(err error) bool {
	if errors.Is(err, fcall.ErrNoPermission) {
		return false
	}
	return errors.Is(err, fcall.ErrUnavailable) || errors.Is(err, fcall.ErrNotLoaded)
}
