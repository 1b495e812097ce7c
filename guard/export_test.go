package guard

import (
	"time"

	"github.com/rlfunc/rlfunc/embedded"
)

// Refuse remembers subjects as refused.
func Refuse(g *Guard, endpoint string, retryAfter time.Duration, subjects ...string) {
	ps := g.plans.Load()
	pl := ps.byName[endpoint]
	for _, s := range subjects {
		var res resolved
		ps.resolve(&res, pl, []string{s})
		g.remember(pl, &res, &Request{Endpoint: endpoint, Subjects: []string{s}, Weight: 1}, &Decision{
			Endpoint: endpoint, Subject: s, Reason: ReasonLimit, RetryAfter: retryAfter, Limits: pl.pack(res.rows, false, nil).states,
		}, now())
	}
}

// WithLocalClock sets the clock of the engine in this process.
func (o Options) WithLocalClock(c embedded.Clock) Options {
	o.localClock = c
	return o
}
