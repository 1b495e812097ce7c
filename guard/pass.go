package guard

import (
	"context"

	"github.com/rlfunc/rlfunc/guard/internal/fallback"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// passes returns what lets each call through to its node, and the errors of calls whose node is left alone; no passes where all are.
func (g *Guard) passes(ctx context.Context, room []fallback.Pass, q *plan.Question) (passes []fallback.Pass, leftOut []error) {
	if q.Whole {
		pass, ok := g.breakers.Allow("")
		if !ok {
			return nil, nil
		}
		return append(room, pass), nil // of the first call, for all
	}
	passes = make([]fallback.Pass, len(q.Calls))
	any := false
	for i := range q.Calls {
		pass, ok := g.breakers.Allow(g.asker.Client.Fcall().Node(ctx, q.Calls[i].Params.Bucket))
		if ok {
			passes[i], any = pass, true
			continue
		}
		if leftOut == nil {
			leftOut = make([]error, len(q.Calls))
		}
		leftOut[i] = ErrBreaker
	}
	if !any {
		return nil, nil
	}
	return passes, leftOut
}

func gaveUp(passes []fallback.Pass) {
	for i := range passes {
		passes[i].GaveUp()
	}
}
