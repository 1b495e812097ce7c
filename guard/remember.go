package guard

// recall fills in a refusal that is remembered, of the subject or of everybody.
func (g *Guard) recall(d *Decision, pl *plan, r *Request, at moment) bool {
	if g.denied.find(d, deniedKey{pl.subject, r.Subject, r.Weight, r.Estimate}, at) {
		return true
	}
	if pl.subject.uncached {
		return false
	}
	for _, pt := range pl.globals {
		if g.denied.find(d, deniedKey{pt, "", r.Weight, 0}, at) {
			d.Endpoint, d.Subject = r.Endpoint, r.Subject
			return true
		}
	}
	return false
}

// remember keeps a refusal that waiting ends. Where refused calls are attempts they have to reach Redis, unless the subject is
// blocked by now. The attempt that starts a block is not kept: its wait may be a limit's that outlasts the block, and who comes next is
// blocked.
func (g *Guard) remember(pl *plan, r *Request, d *Decision, asked moment) {
	if d.Fallback != FallbackNone || !waitHelps(d.Reason) || d.Reason == ReasonAttempts {
		return
	}
	if pl.subject.uncached && d.Reason != ReasonBlocked {
		return
	}
	if d.Reason != ReasonGlobal {
		g.denied.add(deniedKey{pl.subject, r.Subject, r.Weight, r.Estimate}, new(*d), asked)
		return
	}
	// Everybody's rows stand last. What is kept for everybody tells nothing of this subject.
	rows := d.Limits[len(d.Limits)-len(pl.globals):]
	for i, pt := range pl.globals {
		if rows[i].Allowed || rows[i].Shadow {
			continue
		}
		g.denied.add(deniedKey{pt, "", r.Weight, 0}, &Decision{
			Reason: ReasonGlobal, RetryAfter: rows[i].RetryAfter, Limits: rows[i : i+1 : i+1],
		}, asked)
	}
}
