package inspect

import (
	"cmp"
	"time"

	"github.com/rlfunc/rlfunc/calendar"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/wire"
)

// listed returns the limits that count a subject, those of every endpoint first.
func listed(p *policy.Policy, subject string, times int64) []Limit {
	rows := rowsOf(p, func(by policy.By) bool { return p.Counts(by, subject) })
	for i := range rows {
		rows[i].Limit = wire.MultiplyLimit(rows[i].Kind, rows[i].Limit, times)
		rows[i].Burst = wire.MultiplyLimit(rows[i].Kind, rows[i].Burst, times)
	}
	return rows
}

// Period returns the window of a limit, which is the lease of a concurrency, and the period that a quota is in by this machine's clock.
func Period(l policy.Limit) (time.Duration, calendar.Boundaries) {
	if l.Kind == policy.Concurrency {
		return l.Lease, calendar.Boundaries{}
	}
	c, err := l.Calendar()
	if c == nil || err != nil {
		return l.Window, calendar.Boundaries{}
	}
	b := c.Around(time.Now())
	return b.Next.Sub(b.Start), b
}

// rowsOf returns the limits with a wanted By, those of every endpoint first.
func rowsOf(p *policy.Policy, wanted func(policy.By) bool) []Limit {
	rows := []Limit{}
	add := func(limits []policy.Limit, endpoint string) {
		for _, l := range limits {
			if wanted(l.By) {
				window, period := Period(l)
				if l.Kind == policy.Concurrency {
					window = 0
				}
				zone := ""
				if l.Kind == policy.Quota {
					zone = cmp.Or(l.Zone, "UTC")
				}
				rows = append(rows, Limit{
					Endpoint: endpoint, Name: l.Name, By: l.By, Global: l.By.Global(), Kind: l.Kind, Limit: l.Limit, Window: Seconds(window), Lease: Seconds(l.Lease), Burst: l.Burst,
					Every: string(l.Every), Zone: zone, Cost: l.Cost, Shadow: l.Shadow, period: period,
				})
			}
		}
	}
	add(p.Limits, "")
	for i := range p.Endpoints {
		add(p.Endpoints[i].Limits, p.Endpoints[i].Name)
	}
	return rows
}
