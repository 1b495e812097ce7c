package guard

import "slices"

// recall fills in a refusal that is remembered, of the subject or of everybody.
func (g *Guard) recall(d *Decision, ps *plans, pl *plan, r *Request, at moment) bool {
	if !pl.subject.uncached && g.denied.find(d, deniedKey{pl.subject, r.Subject, r.Weight, r.Estimate}, r.Subject, at) {
		return true
	}
	if g.denied.find(d, deniedKey{&ps.blocks, r.Subject, 0, 0}, r.Subject, at) {
		d.Endpoint = r.Endpoint
		return true
	}
	if pl.subject.uncached {
		return false
	}
	for _, pt := range pl.globals {
		if g.denied.find(d, deniedKey{pt, "", r.Weight, 0}, string(pt.global), at) {
			d.Endpoint, d.Subject = r.Endpoint, r.Subject
			return true
		}
	}
	return false
}

// remember keeps a refusal that waiting ends. Where refused calls are attempts they have to reach Redis, unless the subject is
// blocked by now. The attempt that starts a block is not kept: its wait may be a limit's that outlasts the block, and who comes next is
// blocked.
func (g *Guard) remember(ps *plans, pl *plan, r *Request, d *Decision, asked moment) {
	if d.Fallback != FallbackNone || !waitHelps(d.Reason) || d.Reason == ReasonAttempts {
		return
	}
	if d.Reason == ReasonBlocked { // whatever it asks for
		g.denied.add(deniedKey{&ps.blocks, r.Subject, 0, 0}, &Decision{Subject: d.Subject, Reason: ReasonBlocked, RetryAfter: d.block, Strikes: d.Strikes}, asked)
		return
	}
	if pl.subject.uncached {
		return
	}
	if d.Reason != ReasonGlobal {
		g.denied.add(deniedKey{pl.subject, r.Subject, r.Weight, r.Estimate}, d.Clone(), asked)
		return
	}
	// Everybody's rows stand last. What is kept for everybody tells nothing of this subject.
	rows := d.Limits[len(d.Limits)-len(pl.globals):]
	for i, pt := range pl.globals {
		if rows[i].Allowed || rows[i].Shadow {
			continue
		}
		g.denied.add(deniedKey{pt, "", r.Weight, 0}, &Decision{
			Reason: ReasonGlobal, RetryAfter: rows[i].RetryAfter, Limits: slices.Clone(rows[i : i+1]),
		}, asked)
	}
}
