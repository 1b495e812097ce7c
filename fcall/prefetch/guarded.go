package prefetch

import (
	"context"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
)

// Guarded returns a limiter that shares a limit of a subject with calls of guard.Admit. limit returns a gcra, a fixed_window, or a quota
// with its boundaries around now, always of the same kind and size and without a cost.
func Guarded(client *guard.Client, subject fcall.Subject, limit func() guard.Limit, o Options) (*Limiter, error) {
	l := limit()
	atOnce := l.Limit
	switch {
	case l.Kind != guard.LimitKindGCRA && l.Kind != guard.LimitKindFixedWindow && l.Kind != guard.LimitKindQuota:
		return nil, fmt.Errorf("prefetch: kind must be gcra, fixed_window or quota, got %s", l.Kind)
	case l.Cost != nil && *l.Cost != 1:
		return nil, errCost
	case l.Burst > 0:
		atOnce = l.Burst
	}
	return newLimiter(&guarded{client, subject, limit, o.For}, atOnce, o)
}

type guarded struct {
	client  *guard.Client
	subject fcall.Subject
	limit   func() guard.Limit
	bound   time.Duration
}

func (s *guarded) take(ctx context.Context, most int64) (grant, error) {
	l := s.limit()
	r, err := s.client.Take(ctx, guard.TakeParams{Subject: s.subject, Limits: guard.PackLimit(l), Most: most})
	g := granted(r.Taken, r.Remaining, r.ResetAfter, r.RetryAfter, r.At)
	if l.Kind == guard.LimitKindGCRA {
		return g.OfBucket(l.Window/time.Duration(l.Limit), s.bound), err
	}
	return g.OfWindow(), err
}

func (s *guarded) refund(ctx context.Context, tokens int64, expires time.Time) (int64, error) {
	r, err := s.client.Refund(ctx, guard.RefundParams{
		Subject: s.subject, Limits: guard.PackLimit(s.limit()), Weight: tokens,
		At: expires.Add(-time.Second), Taken: guard.PackRefundTaken(guard.RefundTaken{Left: time.Second}),
	})
	if !r.Refunded {
		return 0, err
	}
	return tokens, err
}
