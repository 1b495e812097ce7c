package guard

import (
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// Refuse caches refusals of subjects.
func Refuse(g *Guard, endpoint string, retryAfter time.Duration, subjects ...string) {
	snapshot, plan, err := g.snapshot.Load().plan(&Request{Endpoint: endpoint})
	if err != nil {
		panic(err)
	}
	for _, s := range subjects {
		var w whom
		snapshot.resolve(&w, plan, &Request{Subjects: []string{s}}, nil)
		d := &Decision{Endpoint: endpoint, Subject: s, Reason: ReasonLimit, RetryAfter: retryAfter}
		for i := range w.rows.all() {
			d.Limits = append(d.Limits, limitState(&plan.rows[i], &plan.rows[i].limit, s))
		}
		g.cacheOutcome(plan, &w, &Request{Endpoint: endpoint, Subjects: []string{s}, Weight: 1}, d, monotime.Now())
	}
}

// WaitBackground waits for background work.
func WaitBackground(g *Guard) { g.work.Wait() }

// WakePlaces makes the calls for places that are due within d.
func WakePlaces(g *Guard, d time.Duration) {
	g.places.wakeAt(monotime.Now().Add(d))
	g.localPlaces.wakeAt(monotime.Now().Add(d))
	g.work.Wait()
}

// WithLocalClock sets the clock of the engine in this process.
func (o Options) WithLocalClock(c embedded.Clock) Options {
	o.localClock = c
	return o
}
