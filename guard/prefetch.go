package guard

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/prefetch"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/decide"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A Prefetch counts the tokens that this process took of a limit in batches.
type Prefetch struct {
	// Limit is the name of the limit in Redis: its own, after that of its endpoint if it has one.
	Limit string
	prefetch.Stats
}

// Prefetches returns the prefetched limits, sorted by name. The counts begin with the policy.
func (g *Guard) Prefetches() []Prefetch {
	var all []Prefetch
	g.rules.Load().Batches(func(name string, l *prefetch.Limiter) { all = append(all, Prefetch{name, l.Stats()}) })
	slices.SortFunc(all, func(a, b Prefetch) int { return cmp.Compare(a.Limit, b.Limit) })
	return all
}

// startBatches returns what starts a limit's batches. Their calls have the deadline of a decision, and circuit breakers.
func (g *Guard) startBatches(timeout time.Duration) decide.StartBatches {
	return func(subject fcall.Subject, limit func() genguard.Limit, p *policy.Prefetch) *prefetch.Limiter {
		around := func(ctx context.Context, call func(context.Context) error) error {
			node := ""
			if g.split.Load() {
				node = g.asker.Client.Fcall().Node(ctx, subject)
			}
			permit, ok := g.asker.Breakers.Allow(node)
			if !ok {
				return ErrBreaker
			}
			ctx, cancel := context.WithTimeoutCause(ctx, timeout, ErrTimeout)
			defer cancel()
			err := call(ctx)
			if err != nil && ctx.Err() != nil {
				err = ErrTimeout
			}
			permit.Done(err)
			return err
		}
		name := limit().Name
		observe := func(added prefetch.Stats) { g.hooks.prefetched(Prefetch{name, added}) }
		tokens, err := prefetch.Guarded(g.asker.Client, subject, limit, prefetch.Options{Most: p.Most, For: p.For, Around: around, Observe: observe})
		if err != nil {
			panic(err) // the policy was checked
		}
		return tokens
	}
}

// tokens are what a request took of the batches of its limits.
type tokens struct {
	decided decide.RowSet
	failed  decide.RowSet
	cause   error // why rows failed
	rows    [maxPrefetched]int
	each    [maxPrefetched]prefetch.Decision // of rows
	count   int
}

// maxPrefetched is the number of limits of a request that are prefetched. Redis decides any further ones.
const maxPrefetched = 4

// decidePrefetched decides a request with limits that are prefetched. It takes their tokens first, and returns them if anything refuses.
// If the request asks for nothing else, it does not call Redis.
func (g *Guard) decidePrefetched(
	ctx context.Context, d *Decision, ep *decide.Endpoint, w *decide.Resolved, r *Request, wait decide.Wait, start monotime.Time,
) (call redisCall, err error) {
	var t tokens
	if err := t.take(ctx, ep, wait); err != nil {
		g.refundTokens(ctx, ep, &t)
		return redisCall{}, err
	}
	if refused := t.refused(ep); refused >= 0 {
		g.refundTokens(ctx, ep, &t)
		t.describe(d, ep, w)
		d.Reason, d.RetryAfter = ReasonGlobal, t.each[refused].RetryAfter
		return redisCall{}, nil
	}
	request, rows := (*decide.Request)(r), w.Rows
	others := rows &^ (t.decided | t.failed)
	switch {
	case others != 0 || ep.Asks(w, request):
		q := new(decide.Query)
		w.Rows = others
		q.Build(ep, request, w, g.split.Load())
		w.Rows = rows
		if t.failed != 0 {
			q.AddUndecided(t.failed, t.cause)
		}
		wait.For -= monotime.Now().Since(start)
		if call, err = g.ask(ctx, d, q, wait); err == nil {
			g.cacheOutcome(ep, w, r, d, start)
		}
	case t.failed != 0:
		q := &decide.Query{Endpoint: ep, Request: *request, Resolved: *w}
		q.AddUndecided(t.failed, t.cause)
		err = g.conclude(ctx, d, q)
	default:
		d.Allowed = true
	}
	if err != nil || !d.Allowed {
		g.refundTokens(ctx, ep, &t)
	}
	if err == nil {
		t.describe(d, ep, w)
	}
	return call, err
}

// take takes a token of each prefetched limit, until one refuses. It returns an error if the caller stopped waiting.
func (t *tokens) take(ctx context.Context, ep *decide.Endpoint, wait decide.Wait) error {
	for i := range ep.Prefetched.All() {
		if t.count == maxPrefetched {
			return nil
		}
		l := ep.Rows[i].Tokens
		decision, ok := l.Try()
		if !ok {
			var err error
			decision, err = takeWithin(ctx, l, wait)
			switch {
			case errors.Is(err, prefetch.ErrClosed): // the policy was replaced
				continue
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				t.failed |= 1 << i
				t.cause = err
				continue
			}
		}
		t.decided |= 1 << i
		t.rows[t.count], t.each[t.count] = i, decision
		t.count++
		if !decision.Allowed && !ep.Rows[i].Limit.Shadow {
			return nil
		}
	}
	return nil
}

func takeWithin(ctx context.Context, l *prefetch.Limiter, wait decide.Wait) (prefetch.Decision, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wait.For, wait.Err)
	defer cancel()
	return l.Take(ctx)
}

// refused returns the last token's position if its limit refuses the request, or -1.
func (t *tokens) refused(ep *decide.Endpoint) int {
	if last := t.count - 1; last >= 0 && !t.each[last].Allowed && !ep.Rows[t.rows[last]].Limit.Shadow {
		return last
	}
	return -1
}

// describe adds the limits to the decision.
func (t *tokens) describe(d *Decision, ep *decide.Endpoint, w *decide.Resolved) {
	d.Limits = slices.Grow(d.Limits, t.count)
	for n := range t.count {
		row, got := &ep.Rows[t.rows[n]], &t.each[n]
		state := limitState(row, &row.Limit, w.RowSubjects[t.rows[n]])
		state.Allowed, state.Remaining, state.RetryAfter, state.ResetAfter = got.Allowed, got.Remaining, got.RetryAfter, got.ResetAfter
		d.Limits = append(d.Limits, state)
	}
}

// refundTokens returns the tokens of a request that does not use them, in the background: a batch that has ended needs a call.
func (g *Guard) refundTokens(ctx context.Context, ep *decide.Endpoint, t *tokens) {
	for n := range t.count {
		if decision := t.each[n]; decision.Allowed {
			tokens := ep.Rows[t.rows[n]].Tokens
			g.finish(ctx, func(ctx context.Context) { tokens.Refund(ctx, decision) })
		}
	}
}
