package decide

import (
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/prefetch"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// StartBatches returns what hands out the tokens of a global limit in this process.
type StartBatches func(subject fcall.Subject, limit func() guard.Limit, p *policy.Prefetch) *prefetch.Limiter

// Batches are the batches of a policy's limits. A limit has the same ones in each tariff.
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
func (rules *Rules) Batches(f func(name string, l *prefetch.Limiter)) {
	rules.batches.mu.Lock()
	defer rules.batches.mu.Unlock()
	for name, l := range rules.batches.byName {
		f(name, l)
	}
}

// CloseBatches refunds the tokens that this process holds. Redis decides further requests.
func (rules *Rules) CloseBatches() {
	rules.Batches(func(_ string, l *prefetch.Limiter) { l.Close() })
}

// Asks reports whether the request asks Redis for more than its limits.
func (ep *Endpoint) Asks(w *Resolved, r *Request) bool {
	return w.Budgets != 0 || ep.Dedup > 0 && r.Receipt != "" ||
		ep.challenge != nil && (ep.Params.ChallengeRequired || r.Challenge != "")
}

// AddUndecided adds a call that failed, for global rows whose batch failed. Failure modes decide it.
func (q *Query) AddUndecided(rows RowSet, cause error) {
	c := Call{Err: cause, undecided: true}
	for i := range rows.All() {
		c.Params.Subject = fcall.Subject(q.RowSubjects[i])
	}
	c.Limits = q.Endpoint.Limits(&q.Resolved, rows, q.Share)
	q.Calls = append(q.Calls, c)
}
