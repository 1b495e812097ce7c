package ask

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// A Backend answers questions: Redis, or an engine in this process.
type Backend struct {
	Client *guard.Client
	// Share is what of each limit it decides about.
	Share plan.Share
	// Pipeline, if there is one, makes several calls in one round trip.
	Pipeline func() redis.Pipeliner
}

// Admit makes calls one after the other.
func (b *Backend) Admit(ctx context.Context, calls []plan.Call, answers []Answer) []Answer {
	for i := range calls {
		var a Answer
		a.Result, a.Err = b.Client.Admit(ctx, calls[i].Params)
		answers = append(answers, a)
	}
	return answers
}

// together makes all calls in one round trip, but those that are left out.
func (b *Backend) together(ctx context.Context, calls []plan.Call, leftOut []error) []Answer {
	pipe := b.Pipeline()
	pending, answers := make([]guard.PendingAdmit, len(calls)), make([]Answer, len(calls))
	for i := range calls {
		if leftOut != nil && leftOut[i] != nil {
			answers[i].Err = leftOut[i]
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
			// A pipeline is never sent again, but of this call nothing ran.
			a.Result, a.Err = b.Client.Admit(ctx, calls[i].Params)
		}
	}
	return answers
}

// notRun reports whether err is one of which a call by itself may know better: it follows a cluster's changes, and finds a library that
// was loaded meanwhile.
func notRun(err error) bool {
	if errors.Is(err, fcall.ErrRefused) {
		return false
	}
	return errors.Is(err, fcall.ErrUnavailable) || errors.Is(err, fcall.ErrNotLoaded)
}
