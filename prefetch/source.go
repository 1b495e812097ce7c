package prefetch

import (
	"context"
	"errors"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// A source is a limit in Redis.
type source interface {
	take(ctx context.Context, most int64) (grant, error)
	// refund returns tokens, and reports how many it could.
	refund(ctx context.Context, tokens int64, expires time.Time) (int64, error)
	// share returns how much of what remains one call may take.
	share(remaining int64) int64
}

// A grant is what a call took.
type grant struct {
	taken, remaining int64
	usable           time.Duration // from before the call
	retry            time.Duration
	expires          time.Time
}

var errCost = errors.New("prefetch: Cost must be nil: each request takes one token")

// GCRA returns a limiter that shares a bucket with calls of gcra: p has the bucket, limit, period and burst, and no cost.
func GCRA(client *ratelimit.Client, p ratelimit.GCRAParams, o Options) (*Limiter, error) {
	if p.Cost != nil {
		return nil, errCost
	}
	burst := p.Burst
	if burst == 0 {
		burst = p.Limit
	}
	return newLimiter(&bucket{client, p, o.For}, burst, o)
}

type bucket struct {
	client *ratelimit.Client
	params ratelimit.GCRAParams
	bound  time.Duration
}

func (b *bucket) take(ctx context.Context, most int64) (grant, error) {
	p := b.params
	r, err := b.client.GCRAAtMost(ctx, ratelimit.GCRAAtMostParams{Bucket: p.Bucket, Limit: p.Limit, Period: p.Period, Burst: p.Burst, Most: most})
	// Tokens that are used a time U after they were taken admit rate x U too many. Those that are refunded after H may have been
	// gained again before, which admits rate x H too many. Both together are Options.For.
	usable, refundable := b.bound*2/5, b.bound*3/5
	expires := r.Expires
	if by := r.Expires.Add(refundable - r.ResetAfter); by.Before(expires) {
		expires = by
	}
	return grant{r.Taken, r.Remaining, usable, r.RetryAfter, expires}, err
}

func (b *bucket) refund(ctx context.Context, tokens int64, expires time.Time) (int64, error) {
	p := b.params
	r, err := b.client.GCRARefund(ctx, ratelimit.GCRARefundParams{Bucket: p.Bucket, Limit: p.Limit, Period: p.Period, Burst: p.Burst, Cost: tokens, Expires: expires})
	if !r.Refunded {
		return 0, err
	}
	return tokens, err
}

// share is all: a bucket gains further tokens for other processes.
func (b *bucket) share(int64) int64 { return maxMost }

// FixedWindow returns a limiter that shares a window with calls of fixed_window: p has the bucket, limit and window, and no cost.
func FixedWindow(client *ratelimit.Client, p ratelimit.FixedWindowParams, o Options) (*Limiter, error) {
	if p.Cost != nil {
		return nil, errCost
	}
	return newLimiter(&window{client, p}, p.Limit, o)
}

type window struct {
	client *ratelimit.Client
	params ratelimit.FixedWindowParams
}

func (w *window) take(ctx context.Context, most int64) (grant, error) {
	p := w.params
	r, err := w.client.FixedWindowAtMost(ctx, ratelimit.FixedWindowAtMostParams{Bucket: p.Bucket, Limit: p.Limit, Window: p.Window, Most: most})
	// The server decided after the call began, and its window ends with a millisecond.
	return grant{r.Taken, r.Remaining, r.ResetAfter - time.Millisecond, r.RetryAfter, r.Expires}, err
}

func (w *window) refund(ctx context.Context, tokens int64, expires time.Time) (int64, error) {
	p := w.params
	r, err := w.client.FixedWindowRefund(ctx, ratelimit.FixedWindowRefundParams{Bucket: p.Bucket, Limit: p.Limit, Window: p.Window, Cost: tokens, Expires: expires})
	return r.Refunded, err
}

// share leaves some to other processes, because nothing is gained until the window ends.
func (w *window) share(remaining int64) int64 { return remaining / 4 }
