package prefetch

import (
	"context"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/internal/batch"
)

// Guarded returns a limiter that shares a limit of a subject with calls of guard.Admit. The limit is a gcra or a fixed_window without a
// cost.
func Guarded(client *guard.Client, subject fcall.Subject, l guard.Limit, o Options) (*Limiter, error) {
	atOnce := l.Limit
	switch {
	case l.Kind != guard.LimitKindGCRA && l.Kind != guard.LimitKindFixedWindow:
		return nil, fmt.Errorf("prefetch: kind must be gcra or fixed_window, got %s", l.Kind)
	case l.Cost != nil && *l.Cost != 1:
		return nil, errCost
	case l.Burst > 0:
		atOnce = l.Burst
	}
	pack, err := guard.PackLimit(l)
	if err != nil {
		return nil, fmt.Errorf("prefetch: %w", err)
	}
	return newLimiter(&guarded{client, subject, l, pack, o.For}, atOnce, o)
}

type guarded struct {
	client  *guard.Client
	subject fcall.Subject
	limit   guard.Limit
	pack    guard.LimitPack
	bound   time.Duration
}

func (s *guarded) take(ctx context.Context, most int64) (batch.Grant, error) {
	r, err := s.client.Take(ctx, guard.TakeParams{Bucket: s.subject, Limits: s.pack, Most: most})
	g := batch.Grant{Taken: r.Taken, Remaining: r.Remaining, Reset: r.ResetAfter, Retry: r.RetryAfter, Expires: r.Expires}
	if s.limit.Kind == guard.LimitKindFixedWindow {
		return g.OfWindow(), err
	}
	return g.OfBucket(s.limit.Window/time.Duration(s.limit.Limit), s.bound), err
}

func (s *guarded) refund(ctx context.Context, tokens int64, expires time.Time) (int64, error) {
	r, err := s.client.Refund(ctx, guard.RefundParams{
		Bucket: s.subject, Limits: s.pack, Weight: tokens, Taken: []guard.RefundTaken{{Left: time.Microsecond}}, Expires: expires,
	})
	if !r.Refunded {
		return 0, err
	}
	return tokens, err
}
