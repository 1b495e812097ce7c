package faults

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

type accountName struct {
	kind    *kind
	subject string
}

// An account is what is known of one subject's limit from the answers. The windows are longer than any test: a limit is all
// that may ever be admitted.
type account struct {
	admitted int64 // by an answer
	perhaps  int64 // besides, by calls whose outcome is unknown
	refused  bool  // by an answer
}

// book records the result of a step.
func (tr *traffic) book(k *kind, subject string, admitted, perhaps int64, refused bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	name := accountName{k, subject}
	a := tr.accounts[name]
	if a == nil {
		a = &account{}
		tr.accounts[name] = a
	}
	a.admitted += admitted
	a.perhaps += perhaps
	a.refused = a.refused || refused
}

// settle compares what callers were answered with the limits and with the servers' state.
func (r *report) settle(t *testing.T, s *service, accounts map[accountName]*account) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r.Accounts = len(accounts)
	r.Overshoot, r.Lost = map[string]int64{}, map[string]int64{}
	for name, a := range accounts {
		k := name.kind
		if over := a.admitted - k.limit; over > 0 {
			r.Overshoot[k.name] += over
		}
		r.Worst = max(r.Worst, float64(a.admitted)/float64(k.limit))
		switch early := a.refused && a.admitted+a.perhaps < k.limit; {
		case early && k == challenges:
			r.Lost[k.name]++ // it was issued, and no caller could consume it
		case early && k.exact:
			r.problems = append(r.problems, fmt.Sprintf("%s of %s refused after %d of %d, and %d of unknown outcome", k.name, name.subject, a.admitted, k.limit, a.perhaps))
		}
		if k.held == nil {
			continue
		}
		held, err := k.held(ctx, s, name.subject)
		if err != nil {
			t.Fatalf("what %s holds of %s: %v", k.name, name.subject, err)
		}
		if held < a.admitted {
			r.Lost[k.name] += a.admitted - held
		}
		if held > k.limit {
			r.problems = append(r.problems, fmt.Sprintf("%s of %s holds %d, and its limit is %d", k.name, name.subject, held, k.limit))
		}
		switch surplus := held - a.admitted - a.perhaps; {
		case surplus > 0 && k == budgets:
			r.Unsettled += surplus // a reservation is there whose settlement is lost
		case surplus > 0:
			r.problems = append(r.problems, fmt.Sprintf("%s of %s holds %d, and callers know of %d, and perhaps %d more", k.name, name.subject, held, a.admitted, a.perhaps))
		}
	}
}

const window = 10 * time.Hour

// The admissions that a server counts, by looks that cost nothing.

func logHeld(ctx context.Context, s *service, subject string) (int64, error) {
	r, err := s.ratelimit.SlidingLog(ctx, ratelimit.SlidingLogParams{Subject: fcall.Subject(subject), Limit: 10, Window: window, Cost: new(int64(0))})
	return r.Count, err
}

func logReceiptHeld(ctx context.Context, s *service, subject string) (int64, error) {
	return logHeld(ctx, s, "receipts of "+subject)
}

func gcraHeld(ctx context.Context, s *service, subject string) (int64, error) {
	r, err := s.ratelimit.GCRA(ctx, ratelimit.GCRAParams{Subject: fcall.Subject(subject), Limit: 10, Period: 1000 * window, Cost: new(int64(0))})
	return 10 - r.Remaining, err
}

func spent(ctx context.Context, s *service, subject string) (int64, error) {
	limits := cost.PackBudget(cost.Budget{Budget: 1000, Window: window})
	r, err := s.cost.Peek(ctx, cost.PeekParams{Subject: fcall.Subject(subject), Budgets: limits})
	if err != nil {
		return 0, err
	}
	return int64(r.Budgets[0].Spent), nil
}
