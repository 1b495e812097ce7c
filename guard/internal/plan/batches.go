package plan

import (
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/prefetch"
)

// StartBatches returns what hands out the tokens of a global limit in this process.
type StartBatches func(subject fcall.Subject, limit func() guard.Limit, p *policy.Prefetch) *prefetch.Limiter

// Batches are the batches of a policy's limits. A limit has the same ones in each plan.
type Batches struct {
	start  StartBatches
	mu     sync.Mutex
	byName map[string]*prefetch.Limiter
}

func (b *Batches) of(r Row, p *policy.Prefetch, clock func() time.Time) *prefetch.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byName[r.Limit.Name] == nil {
		limit := func() guard.Limit {
			l := r.Limit
			if r.calendar != nil {
				SetPeriod(&l, r.calendar.Around(clock()))
			}
			return l
		}
		b.byName[r.Limit.Name] = b.start(r.grouping.global, limit, p)
	}
	return b.byName[r.Limit.Name]
}

// Batches calls f with each limit's name in Redis and its batches.
func (ps *Plans) Batches(f func(name string, l *prefetch.Limiter)) {
	ps.batches.mu.Lock()
	defer ps.batches.mu.Unlock()
	for name, l := range ps.batches.byName {
		f(name, l)
	}
}

// CloseBatches refunds the tokens that this process holds. Redis decides further requests.
func (ps *Plans) CloseBatches() {
	ps.Batches(func(_ string, l *prefetch.Limiter) { l.Close() })
}

// Asks reports whether the request asks Redis for more than its limits.
func (pl *Plan) Asks(w *Resolved, r *Request) bool {
	return w.Account != "" || pl.OnAbuse != "" && len(r.Subjects) > 0 || pl.Dedup > 0 && r.Receipt != "" ||
		pl.challenge != nil && (pl.Params.ChallengeRequired || r.Challenge != "")
}

// BuildUndecided builds a query with only a call that is not made, for rows whose batch failed.
func (q *Query) BuildUndecided(pl *Plan, r *Request, w *Resolved, rows RowSet) {
	*q = Query{Plan: pl, Request: *r, Resolved: *w}
	q.AddUndecided(rows)
}

// AddUndecided adds a call that is not made, for global rows whose batch failed. Failure modes decide it.
func (q *Query) AddUndecided(rows RowSet) {
	c := Call{}
	for i := range rows.All() {
		c.Params.Subject = fcall.Subject(q.RowSubjects[i])
	}
	c.Limits = q.Plan.Limits(&q.Resolved, rows, Share{})
	q.Calls = append(q.Calls, c)
}
