package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
)

// chat answers a request that guard allowed, and settles its reservation.
func (s *service) chat(w http.ResponseWriter, r *http.Request) {
	d := httpguard.FromContext(r.Context())
	// A duplicate gets the same answer as its original, which may arrive later. The first of them asks the model.
	ctx := r.Context()
	q := questionOf(ctx)
	a, err := s.answers.Get(ctx, q.receipt, otter.LoaderFunc[string, answer](func(context.Context, string) (answer, error) {
		return think(q, s.pace), nil
	}))
	if err != nil {
		slog.Error("ask the model", "err", err)
		refuse(w, r, http.StatusInternalServerError, "model_failed", "The model failed.")
		return
	}
	settle(ctx, d, a)
	writeJSON(w, map[string]any{
		"answer": a.text, "tokens": a.tokens, "duplicate": d.Duplicate, "tokens_reserved": int64(d.Charge.Reserved().Money / oneToken),
		"tokens_left": tokensLeft(d, a),
	})
}

// settle replaces the estimate with the cost of the answer. A duplicate reserved nothing.
func settle(ctx context.Context, d *guard.Decision, a answer) {
	if d.Duplicate || len(d.Charge.Accounts()) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := d.Charge.Settle(ctx, fcall.Micros(a.tokens)*oneToken); err != nil {
		slog.Error("settle", "err", err) // the estimate counts until its hold ends
	}
}

// tokensLeft returns the tokens left in the tightest budget after the settlement.
func tokensLeft(d *guard.Decision, a answer) int64 {
	left := fcall.Micros(0)
	for i, b := range d.Budgets {
		if i == 0 || b.Remaining < left {
			left = b.Remaining
		}
	}
	if !d.Duplicate && len(d.Budgets) > 0 {
		left += d.Charge.Reserved().Money - fcall.Micros(a.tokens)*oneToken
	}
	return int64(max(left, 0) / oneToken)
}
