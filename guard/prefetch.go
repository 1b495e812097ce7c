package guard

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/prefetch"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
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
	g.snapshot.Load().eachBatch(func(name string, l *prefetch.Limiter) { all = append(all, Prefetch{name, l.Stats()}) })
	slices.SortFunc(all, func(a, b Prefetch) int { return cmp.Compare(a.Limit, b.Limit) })
	return all
}

// startBatches returns what starts a limit's batches. Their calls have the deadline of a decision, and circuit breakers.
func (g *Guard) startBatches(timeout time.Duration) batchStarter {
	return func(subject fcall.Subject, limit func() genguard.Limit, p *policy.Prefetch) *prefetch.Limiter {
		around := func(ctx context.Context, call func(context.Context) error) error {
			node := ""
			if g.split.Load() {
				node = g.asker.client.Fcall().Node(ctx, subject)
			}
			permit, ok := g.asker.breakers.allow(node)
			if !ok {
				return ErrBreaker
			}
			ctx, cancel := context.WithTimeoutCause(ctx, timeout, ErrTimeout)
			defer cancel()
			err := call(ctx)
			if err != nil && ctx.Err() != nil {
				err = ErrTimeout
			}
			permit.done(err)
			return err
		}
		name := limit().Name
		observe := func(added prefetch.Stats) { g.observe(context.Background(), Prefetched{name, added}) }
		tokens, err := prefetch.Guarded(g.asker.client, subject, limit, prefetch.Options{Most: p.Most, For: p.For, Around: around, Observe: observe})
		if err != nil {
			panic(err) // the policy was checked
		}
		return tokens
	}
}

// tokens are what a request took of the batches of its limits.
type tokens struct {
	decided rowSet
	failed  rowSet
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
	ctx context.Context, d *Decision, plan *plan, w *whom, r *Request, wait patience, seen *Decided, start monotime.Time,
) (err error) {
	var t tokens
	if err := t.take(ctx, plan, wait); err != nil {
		g.refundTokens(ctx, plan, &t)
		return err
	}
	if refused := t.refused(plan); refused >= 0 {
		g.refundTokens(ctx, plan, &t)
		t.describe(d, plan, w)
		d.Reason, d.RetryAfter = ReasonGlobal, t.each[refused].RetryAfter
		return nil
	}
	request, rows := r, w.rows
	others := rows &^ (t.decided | t.failed)
	switch {
	case others != 0 || plan.asks(w, request):
		q := new(ask)
		w.rows = others
		q.build(plan, request, w, g.split.Load())
		w.rows = rows
		if t.failed != 0 {
			q.addUndecided(t.failed, t.cause)
		}
		wait.most -= monotime.Now().Since(start)
		if err = g.ask(ctx, d, q, wait, seen); err == nil {
			g.cacheOutcome(plan, w, r, d, start)
		}
	case t.failed != 0:
		q := &ask{plan: plan, request: *request, whom: *w}
		q.addUndecided(t.failed, t.cause)
		err = g.conclude(ctx, d, q)
	default:
		d.Allowed = true
	}
	if err != nil || !d.Allowed {
		g.refundTokens(ctx, plan, &t)
	}
	if err == nil {
		t.describe(d, plan, w)
	}
	return err
}

// take takes a token of each prefetched limit, until one refuses. It returns an error if the caller stopped waiting.
func (t *tokens) take(ctx context.Context, plan *plan, wait patience) error {
	for i := range plan.prefetched.all() {
		if t.count == maxPrefetched {
			return nil
		}
		l := plan.rows[i].tokens
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
		if !decision.Allowed && !plan.rows[i].limit.Shadow {
			return nil
		}
	}
	return nil
}

func takeWithin(ctx context.Context, l *prefetch.Limiter, wait patience) (prefetch.Decision, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wait.most, wait.err)
	defer cancel()
	return l.Take(ctx)
}

// refused returns the last token's position if its limit refuses the request, or -1.
func (t *tokens) refused(plan *plan) int {
	if last := t.count - 1; last >= 0 && !t.each[last].Allowed && !plan.rows[t.rows[last]].limit.Shadow {
		return last
	}
	return -1
}

// describe adds the limits to the decision.
func (t *tokens) describe(d *Decision, plan *plan, w *whom) {
	d.Limits = slices.Grow(d.Limits, t.count)
	for n := range t.count {
		row, got := &plan.rows[t.rows[n]], &t.each[n]
		state := limitState(row, &row.limit, w.rowSubjects[t.rows[n]])
		state.Allowed, state.Remaining, state.RetryAfter, state.ResetAfter = got.Allowed, got.Remaining, got.RetryAfter, got.ResetAfter
		d.Limits = append(d.Limits, state)
	}
}

// refundTokens returns the tokens of a request that does not use them, in the background: a batch that has ended needs a call.
func (g *Guard) refundTokens(ctx context.Context, plan *plan, t *tokens) {
	for n := range t.count {
		if decision := t.each[n]; decision.Allowed {
			tokens := plan.rows[t.rows[n]].tokens
			g.finish(ctx, func(ctx context.Context) { tokens.Refund(ctx, decision) })
		}
	}
}

// batchStarter returns what hands out the tokens of a global limit in this process.
type batchStarter func(subject fcall.Subject, limit func() genguard.Limit, p *policy.Prefetch) *prefetch.Limiter

// batches are the batches of a policy's limits. A limit has the same ones in each tariff.
type batches struct {
	start  batchStarter
	mu     sync.Mutex
	byName map[string]*prefetch.Limiter
}

func (b *batches) of(r planLimit, p *policy.Prefetch, clock func() time.Time) *prefetch.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byName[r.limit.Name] == nil {
		limit := func() genguard.Limit {
			l := r.limit
			if r.calendar != nil {
				setPeriod(&l, r.calendar.Around(clock()))
			}
			return l
		}
		b.byName[r.limit.Name] = b.start(r.grouping.global, limit, p)
	}
	return b.byName[r.limit.Name]
}

// eachBatch calls f with each limit's name in Redis and its batches.
func (s *snapshot) eachBatch(f func(name string, l *prefetch.Limiter)) {
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	for name, l := range s.batches.byName {
		f(name, l)
	}
}

// closeBatches refunds the tokens that this process holds. Redis decides further requests.
func (s *snapshot) closeBatches() {
	s.eachBatch(func(_ string, l *prefetch.Limiter) { l.Close() })
}

// asks reports whether the request asks Redis for more than its limits.
func (plan *plan) asks(w *whom, r *Request) bool {
	return w.budgets != 0 || plan.dedup > 0 && r.Receipt != "" ||
		plan.challenge != nil && (plan.params.ChallengeRequired || r.Challenge != "")
}

// addUndecided adds a call that failed, for global rows whose batch failed. Failure modes decide it.
func (q *ask) addUndecided(rows rowSet, cause error) {
	c := call{err: cause, undecided: true}
	for i := range rows.all() {
		c.params.Subject = fcall.Subject(q.rowSubjects[i])
	}
	c.limits = q.plan.limitShape(&q.whom, rows, q.share)
	q.calls = append(q.calls, c)
}
