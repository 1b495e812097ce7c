package guard

import "time"

// Refuse remembers subjects as refused.
func Refuse(g *Guard, endpoint string, retryAfter time.Duration, subjects ...string) {
	pl := g.plans.Load().byName[endpoint]
	for _, s := range subjects {
		g.remember(pl, &Request{Endpoint: endpoint, Subject: s, Weight: 1}, &Decision{
			Endpoint: endpoint, Subject: s, Reason: ReasonLimit, RetryAfter: retryAfter, Limits: pl.subject.limits,
		}, now())
	}
}
