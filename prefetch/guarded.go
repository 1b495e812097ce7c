package prefetch

import (
	"context"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/internal/batch"
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
	if _, err := guard.PackLimit(l); err != nil {
		return nil, fmt.Errorf("prefetch: %w", err)
	}
	return newLimiter(&guarded{client, subject, limit, o.For}, atOnce, o)
}

type guarded struct {
	client  *guard.Client
	subject fcall.Subject
	limit   func() guard.Limit
	bound   time.Duration
}

func (s *guarded) take(ctx context.Context, most int64) (batch.Grant, error) {
	l := s.limit()
	pack, err := guard.PackLimit(l)
	if err != nil {
		return batch.Grant{}, err
	}
	r, err := s.client.Take(ctx, guard.TakeParams{Subject: s.subject, Limits: pack, Most: most})
	g := batch.Grant{Taken: r.Taken, Remaining: r.Remaining, Reset: r.ResetAfter, Retry: r.RetryAfter, Expires: r.Expires}
	if l.Kind == guard.LimitKindGCRA {
		return g.OfBucket(l.Window/time.Duration(l.Limit), s.bound), err
	}
	return g.OfWindow(), err
}

func (s *guarded) refund(ctx context.Context, tokens int64, expires time.Time) (int64, error) {
	pack, err := guard.PackLimit(s.limit())
	if err != nil {
		return 0, err
	}
	r, err := s.client.Refund(ctx, guard.RefundParams{
		Subject: s.subject, Limits: pack, Weight: tokens, Taken: []guard.RefundTaken{{Left: time.Microsecond}}, Expires: expires,
	})
	if !r.Refunded {
		return 0, err
	}
	return tokens, err
}
