package dyncall

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Load is the summary of calls that were made for a while.
type Load struct {
	Summary
	P90, Longest, Took time.Duration
}

// For makes calls from workers that start together, for the subjects in turn, until the time is over or the context ends.
func (c *Call) For(ctx context.Context, span time.Duration, workers, subjects int) Load {
	calls := make([]*Call, subjects)
	for i := range calls {
		calls[i] = c.Of(i + 1)
	}
	type part struct {
		took     []time.Duration
		outcomes map[string]int
		errs     int
		first    error
	}
	parts := make([]part, workers)
	var next atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for w := range parts {
		wg.Go(func() {
			p := part{outcomes: map[string]int{}}
			for time.Since(began) < span && ctx.Err() == nil {
				call := calls[(next.Add(1)-1)%int64(subjects)]
				args, _, _ := call.args()
				sent := time.Now()
				reply, err := args.Call(ctx)
				p.took = append(p.took, time.Since(sent))
				if err == nil {
					var result Result
					if result, err = decode(reply, c.spec); err == nil {
						p.outcomes[result.Outcome()]++
						continue
					}
				}
				p.errs++
				if p.first == nil {
					p.first = err
				}
			}
			parts[w] = p
		})
	}
	wg.Wait()
	l := Load{Took: time.Since(began), Summary: Summary{Outcomes: map[string]int{}}}
	var took []time.Duration
	for _, p := range parts {
		took = append(took, p.took...)
		l.Errors += p.errs
		if l.FirstError == nil {
			l.FirstError = p.first
		}
		for name, n := range p.outcomes {
			l.Outcomes[name] += n
		}
	}
	l.Calls = len(took)
	if l.Calls > 0 {
		slices.Sort(took)
		at := func(percent int) time.Duration { return took[(len(took)-1)*percent/100] }
		l.P50, l.P90, l.P99, l.Longest = at(50), at(90), at(99), at(100)
	}
	return l
}
