package guard

import "github.com/rlfunc/rlfunc/gen/guard"

// compose makes the decision of what the parts answered; an answer with an error is left out.
func (g *Guard) compose(d *Decision, q *question, answers []answer) {
	d.Allowed = true
	for i := range answers {
		if answers[i].err == nil {
			d.take(q.parts[i], &q.params[i], &answers[i].result)
		}
	}
	if own := &answers[0]; d.Allowed && own.err == nil && len(q.params[0].Budgets) > 0 {
		d.charge = &charge{
			guard: g, subject: q.request.Subject, reservation: own.result.Reservation, estimate: q.params[0].Estimate,
			duplicate: own.result.Duplicate,
		}
	}
}

// take adds a part's answer to its call to the decision. The subject's own refusal names the reason, also where everybody is refused.
func (d *Decision) take(pt *part, p *guard.AdmitParams, a *guard.AdmitResult) {
	own := pt.global == ""
	if own {
		d.Duplicate = a.Duplicate
		d.Strikes = int(a.Strikes)
		d.Tier = int(a.Tier)
		if a.Challenge != guard.AdmitChallengeNone {
			d.Challenge = string(a.Challenge)
		}
	}
	if !a.Allowed {
		if d.Allowed {
			d.Reason = reasonOf(a.Reason, own)
		}
		d.Allowed = false
		if !waitHelps(d.Reason) {
			d.RetryAfter = 0
		} else {
			d.RetryAfter = max(d.RetryAfter, a.RetryAfter)
		}
		if own && a.Reason == guard.AdmitReasonBlocked {
			d.block = a.RetryAfter
		}
	}
	for i := range a.Limits {
		row := pt.limits[i]
		row.Limit, row.Burst = p.Limits[i].Limit, p.Limits[i].Burst
		row.Allowed, row.Remaining = a.Limits[i].Allowed, a.Limits[i].Remaining
		row.RetryAfter, row.ResetAfter = a.Limits[i].RetryAfter, a.Limits[i].ResetAfter
		d.Limits = append(d.Limits, row)
	}
	for i := range a.Budgets {
		d.Budgets = append(d.Budgets, BudgetState{
			Name: pt.names[i], Budget: p.Budgets[i].Budget, Window: p.Budgets[i].Window,
			Allowed: a.Budgets[i].Allowed, Spent: a.Budgets[i].Spent, Remaining: a.Budgets[i].Remaining, RetryAfter: a.Budgets[i].RetryAfter,
		})
	}
}

// waitHelps tells that a request of that reason passes some time.
func waitHelps(r Reason) bool {
	return r != ReasonTooLarge && r != ReasonChallenge && r != ReasonDenied
}

func reasonOf(r guard.AdmitReason, own bool) Reason {
	switch r {
	case guard.AdmitReasonBlocked:
		return ReasonBlocked
	case guard.AdmitReasonTier:
		return ReasonAttempts
	case guard.AdmitReasonLimit:
		if !own {
			return ReasonGlobal
		}
		return ReasonLimit
	case guard.AdmitReasonPenalty:
		return ReasonPenalty
	case guard.AdmitReasonBudget:
		return ReasonBudget
	case guard.AdmitReasonTooLarge:
		return ReasonTooLarge
	case guard.AdmitReasonChallenge:
		return ReasonChallenge
	}
	return ReasonLimit
}

// backOf is what takes back one part's charge.
func backOf(p *guard.AdmitParams, a *guard.AdmitResult) guard.GiveBackParams {
	back := guard.GiveBackParams{Bucket: p.Bucket, Receipt: p.Receipt, Reservation: a.Reservation}
	for i, row := range p.Limits {
		if !a.Limits[i].Allowed { // a limit in the shadow has charged nothing
			continue
		}
		back.Limits = append(back.Limits, guard.GiveBackLimits{
			Name: row.Name, Kind: guard.GiveBackLimitsKind(row.Kind), Limit: row.Limit, Window: row.Window, Burst: row.Burst,
			Cost: row.Cost, Mark: a.Limits[i].Mark,
		})
	}
	if a.Challenge == guard.AdmitChallengeConsumed {
		back.Challenge, back.Payload = p.Challenge, p.Payload
	}
	return back
}
