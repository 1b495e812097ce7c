package places

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
)

// A Call renews a lease or releases it.
type Call struct {
	Lease   *Lease
	Release bool
	Lost    bool  // the holder did not have all places any longer
	Err     error // of the call; its outcome may be unknown
}

// Fail sets the error of all calls.
func Fail(calls []Call, err error) {
	for i := range calls {
		calls[i].Err = err
	}
}

func (p *Places) renewal() guard.RenewParams {
	return guard.RenewParams{Subject: p.Subject, Limits: p.Limits, LimitsOf: p.Of, Holder: p.Holder}
}

func (p *Places) release() guard.ReleaseParams {
	return guard.ReleaseParams{Subject: p.Subject, Limits: p.Limits, LimitsOf: p.Of, Holder: p.Holder}
}

// Make makes the call by itself.
func (c *Call) Make(ctx context.Context, client *guard.Client) {
	if c.Release {
		var r guard.ReleaseResult
		r, c.Err = client.Release(ctx, c.Lease.release())
		c.Lost = r.Released < int64(len(c.Lease.Of))
		return
	}
	var r guard.RenewResult
	r, c.Err = client.Renew(ctx, c.Lease.renewal())
	c.Lost = r.Lost > 0
}

// MakeAll makes calls in one round trip.
func MakeAll(ctx context.Context, client *guard.Client, pipe redis.Pipeliner, calls []Call) {
	renewals, releases := make([]guard.PendingRenew, len(calls)), make([]guard.PendingRelease, len(calls))
	for i := range calls {
		if calls[i].Release {
			releases[i] = client.QueueRelease(ctx, pipe, calls[i].Lease.release())
		} else {
			renewals[i] = client.QueueRenew(ctx, pipe, calls[i].Lease.renewal())
		}
	}
	_, _ = pipe.Exec(ctx) // each call has its own error
	retry := true
	for i := range calls {
		c := &calls[i]
		if c.Release {
			var r guard.ReleaseResult
			r, c.Err = releases[i].Result()
			c.Lost = r.Released < int64(len(c.Lease.Of))
		} else {
			var r guard.RenewResult
			r, c.Err = renewals[i].Result()
			c.Lost = r.Lost > 0
		}
		if retry && notRun(c.Err) { // a single call follows redirects and loads a missing library
			c.Make(ctx, client)
			retry = c.Err == nil
		}
	}
}

// notRun reports whether a call ran nothing and may succeed by itself.
func notRun(err error) bool {
	if errors.Is(err, fcall.ErrNoPermission) {
		return false
	}
	return errors.Is(err, fcall.ErrUnavailable) || errors.Is(err, fcall.ErrNotLoaded)
}
