package faults

import (
	"context"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// The admissions that a server counts, by its peeks.

func logHeld(ctx context.Context, s *service, subject string) (int64, error) {
	r, err := s.ratelimit.SlidingLogPeek(ctx, ratelimit.SlidingLogPeekParams{Subject: fcall.Subject(subject), Limit: 10, Window: window})
	return r.Count, err
}

func logReceiptHeld(ctx context.Context, s *service, subject string) (int64, error) {
	return logHeld(ctx, s, "receipts of "+subject)
}

func gcraHeld(ctx context.Context, s *service, subject string) (int64, error) {
	r, err := s.ratelimit.GCRAPeek(ctx, ratelimit.GCRAPeekParams{Subject: fcall.Subject(subject), Limit: 10, Period: 1000 * window})
	return 10 - r.Remaining, err
}

func spent(ctx context.Context, s *service, subject string) (int64, error) {
	limits := cost.MustPackAccountBudget(cost.AccountBudget{Budget: 1000, Window: window})
	r, err := s.cost.Peek(ctx, cost.PeekParams{Subject: fcall.Subject(subject), Limits: limits})
	if err != nil {
		return 0, err
	}
	return int64(r.Limits[0].Spent), nil
}
