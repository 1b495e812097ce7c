package guard

import "slices"

// blocks stands for all plans where a block is remembered.
var blocks = new(plan)

// recall fills in a refusal that is remembered: of these subjects, of a block of one of them, or of a global limit.
func (g *Guard) recall(d *Decision, pl *plan, res *resolved, r *Request, at moment) bool {
	if g.denied == nil {
		return false
	}
	endpoint, subject := d.Endpoint, d.Subject
	if pl.attempts == nil && g.denied.find(d, deniedKey{pl, res.own(pl), r.Weight, r.Estimate}, res.of[:], at) {
		return true
	}
	found := false
	for _, s := range r.Subjects {
		found = found || g.denied.find(d, deniedKey{blocks, s, 0, 0}, []string{s}, at)
	}
	if pl.attempts == nil {
		for i := range res.rows.all() {
			if row := &pl.rows[i]; !found && row.limit.Global {
				found = g.denied.find(d, deniedKey{row, "", r.Weight, 0}, res.of[i:i+1], at)
			}
		}
	}
	if found {
		d.Endpoint, d.Subject = endpoint, subject
	}
	return found
}

// remember keeps a refusal that waiting ends. Where refused calls are attempts they have to reach Redis, unless a subject is
// blocked by now. The attempt that starts a block is not kept: its wait may be a limit's that outlasts the block, and who comes next is
// blocked.
func (g *Guard) remember(pl *plan, res *resolved, r *Request, d *Decision, asked moment) {
	if g.denied == nil || d.Fallback != FallbackNone || !waitHelps(d.Reason) || d.Reason == ReasonAttempts {
		return
	}
	if d.Reason == ReasonBlocked { // whatever it asks for
		g.denied.add(deniedKey{blocks, d.Refused, 0, 0}, &Decision{
			Reason: ReasonBlocked, Refused: d.Refused, RetryAfter: d.block, Strikes: d.Strikes,
		}, asked)
		return
	}
	if pl.attempts != nil {
		return
	}
	if d.Reason != ReasonGlobal {
		g.denied.add(deniedKey{pl, res.own(pl), r.Weight, r.Estimate}, d.Clone(), asked)
		return
	}
	// What is kept for every request tells nothing of these subjects.
	for i := range res.rows.all() {
		row := &pl.rows[i]
		if !row.limit.Global {
			continue
		}
		for n := range d.Limits {
			if l := &d.Limits[n]; l.Global && l.Subject == res.of[i] && !l.Allowed && !l.Shadow {
				g.denied.add(deniedKey{row, "", r.Weight, 0}, &Decision{
					Reason: ReasonGlobal, RetryAfter: l.RetryAfter, Limits: slices.Clone(d.Limits[n : n+1]),
				}, asked)
			}
		}
	}
}
