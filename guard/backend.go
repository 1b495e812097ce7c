package guard

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
)

// An answer is what one call of a decision came to.
type answer struct {
	result guard.AdmitResult
	err    error
}

// A backend makes the calls of a request; answers are in their order.
type backend interface {
	admit(ctx context.Context, calls []call) []answer
	giveBack(ctx context.Context, p guard.GiveBackParams) error
}

// oneByOne makes one call after the other.
type oneByOne struct{ client *guard.Client }

func (b oneByOne) admit(ctx context.Context, calls []call) []answer {
	answers := make([]answer, len(calls))
	for i := range calls {
		answers[i].result, answers[i].err = b.client.Admit(ctx, calls[i].params)
	}
	return answers
}

func (b oneByOne) giveBack(ctx context.Context, p guard.GiveBackParams) error {
	_, err := b.client.GiveBack(ctx, p)
	return err
}

// pipelined makes all calls in one round trip.
type pipelined struct {
	oneByOne
	rdb interface{ Pipeline() redis.Pipeliner }
}

func (b pipelined) admit(ctx context.Context, calls []call) []answer {
	if len(calls) == 1 {
		return b.oneByOne.admit(ctx, calls)
	}
	pipe := b.rdb.Pipeline()
	pending := make([]guard.PendingAdmit, len(calls))
	for i := range calls {
		pending[i] = b.client.QueueAdmit(ctx, pipe, calls[i].params)
	}
	_, _ = pipe.Exec(ctx) // each call has its own error
	answers := make([]answer, len(calls))
	for i := range pending {
		a := &answers[i]
		if a.result, a.err = pending[i].Result(); notRun(a.err) {
			// A pipeline is never sent again, but of this call nothing ran.
			a.result, a.err = b.client.Admit(ctx, calls[i].params)
		}
	}
	return answers
}

// notRun tells an error of which a call by itself may know better: it follows a cluster's changes, and finds a library that
// was loaded meanwhile.
func notRun(err error) bool {
	if errors.Is(err, fcall.ErrRefused) {
		return false
	}
	return errors.Is(err, fcall.ErrUnavailable) || errors.Is(err, fcall.ErrNotLoaded)
}
