package guard

import (
	"context"

	"github.com/rlfunc/rlfunc/guard/internal/fallback"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// permits asks the circuit breakers. It returns a permit for each call, or an error for each call whose breaker is open. It returns no
// permits if all are open.
func (g *Guard) permits(ctx context.Context, room []fallback.Permit, q *plan.Query) (permits []fallback.Permit, skipped []error) {
	if q.OneServer {
		permit, ok := g.breakers.Allow("")
		if !ok {
			return nil, nil
		}
		return append(room, permit), nil // one permit for all calls
	}
	permits = make([]fallback.Permit, len(q.Calls))
	any := false
	for i := range q.Calls {
		permit, ok := g.breakers.Allow(g.sender.Client.Fcall().Node(ctx, q.Calls[i].Params.Subject))
		if ok {
			permits[i], any = permit, true
			continue
		}
		if skipped == nil {
			skipped = make([]error, len(q.Calls))
		}
		skipped[i] = ErrBreaker
	}
	if !any {
		return nil, nil
	}
	return permits, skipped
}

func abandon(permits []fallback.Permit) {
	for i := range permits {
		permits[i].Abandon()
	}
}
