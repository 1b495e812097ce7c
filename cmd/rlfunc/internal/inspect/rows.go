package inspect

import "github.com/rlfunc/rlfunc/guard/policy"

// listed are the limits that a subject has: those of every endpoint first.
func listed(p *policy.Policy, times int64) []Limit {
	rows := rowsOf(nil, p.Limits, "", false)
	for i := range p.Endpoints {
		rows = rowsOf(rows, p.Endpoints[i].Limits, p.Endpoints[i].Name, false)
	}
	for i := range rows {
		rows[i].Limit *= times
		rows[i].Burst *= times
	}
	return rows
}

// everybodys are the limits that everybody shares.
func everybodys(p *policy.Policy) []Limit {
	rows := rowsOf(nil, p.Global, "", true)
	for i := range p.Endpoints {
		rows = rowsOf(rows, p.Endpoints[i].Global, p.Endpoints[i].Name, true)
	}
	return rows
}

func rowsOf(rows []Limit, limits []policy.Limit, endpoint string, global bool) []Limit {
	for _, l := range limits {
		rows = append(rows, Limit{
			Endpoint: endpoint, Name: l.Name, Global: global, Kind: l.Kind, Limit: l.Limit, Window: Seconds(l.Window), Burst: l.Burst, Cost: l.Cost, Shadow: l.Shadow,
		})
	}
	return rows
}
