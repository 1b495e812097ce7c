package inspect

import (
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/wire"
)

// listed returns the limits that count a subject, those of every endpoint first.
func listed(p *policy.Policy, subject string, times int64) []Limit {
	rows := rowsOf(p, func(by policy.By) bool { return Counts(p, by, subject) })
	for i := range rows {
		rows[i].Limit = wire.MultiplyLimit(rows[i].Limit, times)
		rows[i].Burst = wire.MultiplyLimit(rows[i].Burst, times)
	}
	return rows
}

// Counts reports whether a limit by these identities counts the requests of subject, which may be a combination.
func Counts(p *policy.Policy, by policy.By, subject string) bool {
	parts := strings.Split(subject, "+")
	if len(parts) != len(by) || by.Global() {
		return false
	}
	for i, part := range parts {
		name, _, _ := strings.Cut(part, "=")
		if !slices.Contains(p.Alternatives(by[i]), name) {
			return false
		}
	}
	return true
}

// globals returns the limits that count every request.
func globals(p *policy.Policy) []Limit { return rowsOf(p, policy.By.Global) }

func rowsOf(p *policy.Policy, wanted func(policy.By) bool) []Limit {
	var rows []Limit
	add := func(limits []policy.Limit, endpoint string) {
		for _, l := range limits {
			if wanted(l.By) {
				rows = append(rows, Limit{
					Endpoint: endpoint, Name: l.Name, By: l.By, Global: l.By.Global(), Kind: l.Kind, Limit: l.Limit, Window: Seconds(l.Window), Burst: l.Burst,
					Cost: l.Cost, Shadow: l.Shadow,
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
