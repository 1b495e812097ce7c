package replay

import (
	"context"
	"time"

	"github.com/rlfunc/rlfunc/gen/guard"
)

// An answer is the outcome of a call.
type answer struct {
	allowed   bool
	duplicate bool
	reason    Reason
	meters    []int16 // limits and budgets that refuse
	shadows   []int16 // shadow limits that would refuse
	block     *Block
	put       bool               // allowed and deferred: it is the last of tracked.calls
	took      *guard.AdmitResult // charges, for a refund if a global limit refuses
}

// mostPut is the most deferred calls of one subject, of 24 bytes each.
const mostPut = 1 << 16

// decide decides a request by the limits of a subject, or by a global limit.
func (e *engine) decide(ctx context.Context, ps *plans, t *tracked, p *plan, at int64, id string) (answer, error) {
	if !e.sequential {
		if id == "" && t.certain(p, at) {
			if len(t.calls)-t.sent > mostPut {
				if err := e.flush(ctx, t, at); err != nil {
					return answer{}, err
				}
			}
			t.add(p, at, taken, false)
			t.compact(ps.byTrack, at)
			return answer{allowed: true, put: true}, nil
		}
		if at < t.blocked-tick {
			return answer{reason: ReasonBlocked}, nil
		}
		if id == "" {
			if a, ok := t.known.at(t, p, at); ok {
				return a, nil
			}
		}
	}
	result, err := e.admit(ctx, t, p, at, id)
	if err != nil {
		return answer{}, err
	}
	a := t.take(p, at, &result)
	t.compact(ps.byTrack, at)
	return a, nil
}

// take records the engine's answer.
func (t *tracked) take(p *plan, at int64, r *guard.AdmitResult) answer {
	a := answer{allowed: r.Allowed, duplicate: r.Duplicate, reason: reasons[r.Reason]}
	t.struck = t.struck || r.Strikes > 0
	if r.Allowed {
		for i := range r.Limits {
			if !r.Limits[i].Allowed {
				a.shadows = append(a.shadows, int16(p.rules[i].meter))
			}
		}
		if !r.Duplicate {
			t.add(p, at, taken, true)
			a.took = r
		}
		return a
	}
	until := at + r.RetryAfter.Microseconds()
	if r.Reason == guard.AdmitReasonBlocked {
		t.blocked, t.held = until, until+tick
		return a
	}
	if r.Reason == guard.AdmitReasonTier {
		t.held = until + tick
		a.block = newBlock(p, at, r)
	}
	t.known = knownOf(t, p, at, r)
	a.meters = t.known.all
	if p.refusals {
		t.add(p, at, attempted, true)
	}
	return a
}

func newBlock(p *plan, at int64, r *guard.AdmitResult) *Block {
	lasts := p.tiers[r.Tier-1].Block
	if steps := p.escalation; len(steps) > 0 {
		lasts = steps[min(int(r.Strikes), len(steps))-1].Block
	}
	return &Block{Time: time.UnixMicro(at).UTC(), Tier: int(r.Tier), Strikes: int(r.Strikes), Seconds: seconds(lasts)}
}

var reasons = map[guard.AdmitReason]Reason{
	guard.AdmitReasonNone: ReasonNone, guard.AdmitReasonBlocked: ReasonBlocked, guard.AdmitReasonTier: ReasonAttempts,
	guard.AdmitReasonLimit: ReasonLimit, guard.AdmitReasonPenalty: ReasonBudget, guard.AdmitReasonBudget: ReasonBudget,
	guard.AdmitReasonTooLarge: ReasonTooLarge,
}

// known is the last refusal. It repeats until each limit's retry_after, unless a call was charged since.
type known struct {
	plan   *plan
	writes int
	rows   []knownRow
	all    []int16 // the meters of rows
	reason Reason  // if only a budget refuses
}

type knownRow struct {
	until int64
	limit bool
}

// knownOf returns the refusal of r. Its plan is nil if a repeat would differ: refusals are recorded, or waiting does not help.
func knownOf(t *tracked, p *plan, at int64, r *guard.AdmitResult) known {
	k := known{plan: p, writes: t.writes, reason: reasons[r.Reason]}
	add := func(row int, retry time.Duration, limit bool) {
		k.rows = append(k.rows, knownRow{at + retry.Microseconds(), limit})
		k.all = append(k.all, int16(p.rules[row].meter))
		if retry <= 0 {
			k.plan = nil
		}
	}
	for i := range r.Limits {
		if !r.Limits[i].Allowed && !p.limits[i].Shadow {
			add(i, r.Limits[i].RetryAfter, true)
		}
	}
	for i := range r.Budgets {
		if !r.Budgets[i].Allowed {
			add(len(r.Limits)+i, r.Budgets[i].RetryAfter, false)
		}
	}
	if p.refusals {
		k.plan = nil
	}
	return k
}

// at returns the answer that the engine would give, and reports whether that is certain.
func (k *known) at(t *tracked, p *plan, now int64) (answer, bool) {
	if k.plan != p || k.writes != t.writes || now < t.held {
		return answer{}, false
	}
	still, reason := 0, ReasonBudget
	for _, row := range k.rows {
		switch {
		case now < row.until-tick:
			still++
			if row.limit {
				reason = ReasonLimit
			}
		case now < row.until+tick:
			return answer{}, false
		}
	}
	if still == 0 {
		return answer{}, false
	}
	a := answer{reason: reason, meters: k.all}
	if still < len(k.rows) {
		a.meters = nil
		for i, row := range k.rows {
			if now < row.until-tick {
				a.meters = append(a.meters, k.all[i])
			}
		}
	}
	return a, true
}
