package guard

import (
	"math"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// plans are a policy, ready for requests: by endpoint.
type plans struct {
	policy    *policy.Policy
	byName    map[string]*plan
	settling  []budgetRow
	overrides *policy.Lookup // nil when there are none
	local     backend        // nil when nothing is decided here
	blocks    part           // stands for all endpoints where a block is remembered
}

// A plan is what is asked about a request for one endpoint.
type plan struct {
	endpoint *policy.Endpoint
	dedup    time.Duration
	subject  *part
	globals  []*part
	parts    []*part // all of these
}

// A part is one call: about a subject, or about a limit of everybody.
type part struct {
	global fcall.Subject // whom a limit of everybody is kept for; "" is the request's subject
	params guard.AdmitParams
	limits []LimitState // a row for each of params.Limits, as far as the policy says
	names  []string     // of params.Budgets

	challenge bool     // a challenge is looked at
	closed    []string // what refuses without Redis
	local     *part    // what is decided here without Redis; nil when nothing is
	uncached  bool     // refusals are attempts, so none is answered from memory but a block
	estimate  fcall.Micros
}

// A budgetRow is a budget that a settlement is held to.
type budgetRow struct {
	budget fcall.Micros
	window time.Duration
}

// compile makes the plans of a policy that was checked and completed.
func compile(p *policy.Policy) *plans {
	ps := &plans{policy: p, byName: make(map[string]*plan, len(p.Endpoints))}
	if o := &p.Overrides; len(o.Allow)+len(o.Deny)+len(o.Multiply) > 0 {
		ps.overrides = o.Lookup()
	}
	if p.Cost != nil {
		for _, b := range p.Cost.Budgets {
			ps.settling = append(ps.settling, budgetRow{fcall.Micros(b.Budget), b.Window})
		}
	}
	shared := make([]*part, len(p.Global))
	for i := range p.Global {
		shared[i] = globalPart(p, "", &p.Global[i])
	}
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		pl := &plan{endpoint: e, subject: subjectPart(p, e), globals: shared[:len(shared):len(shared)]}
		if e.Dedup != nil {
			pl.dedup = *e.Dedup
		}
		for j := range e.Global {
			pl.globals = append(pl.globals, globalPart(p, e.Name, &e.Global[j]))
		}
		pl.parts = append([]*part{pl.subject}, pl.globals...)
		ps.byName[e.Name] = pl
	}
	return ps
}

func (ps *plans) needsLocal() bool {
	for _, pl := range ps.byName {
		if pl.subject.local != nil {
			return true
		}
		for _, pt := range pl.globals {
			if pt.local != nil {
				return true
			}
		}
	}
	return false
}

func globalPart(p *policy.Policy, endpoint string, l *policy.Limit) *part {
	pt := &part{global: fcall.Subject(policy.Everybody + policy.WireName(endpoint, l.Name))}
	pt.add(p, "", l, true)
	pt.finish(pt.global)
	return pt
}

func subjectPart(p *policy.Policy, e *policy.Endpoint) *part {
	pt := new(part)
	for i := range p.Limits {
		pt.add(p, "", &p.Limits[i], false)
	}
	for i := range e.Limits {
		pt.add(p, e.Name, &e.Limits[i], false)
	}
	pt.addCost(p, e)
	pt.addAbuse(p, e)
	if c := e.Challenge; c != nil {
		pt.challenge = true
		pt.params.ChallengeRequired = c.Required
		if c.OnFailure == policy.Closed {
			pt.closed = append(pt.closed, "challenge")
		}
	}
	pt.finish("")
	return pt
}

// add takes a limit into the call, and what it does without Redis.
func (pt *part) add(p *policy.Policy, endpoint string, l *policy.Limit, global bool) {
	row := guard.AdmitLimits{
		Name: policy.WireName(endpoint, l.Name), Kind: guard.AdmitLimitsKind(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst,
		Cost: new(l.Cost), Shadow: l.Shadow,
	}
	pt.params.Limits = append(pt.params.Limits, row)
	pt.limits = append(pt.limits, LimitState{
		Name: l.Name, Kind: l.Kind, Limit: l.Limit, Window: l.Window, Burst: l.Burst, Global: global, Shadow: l.Shadow,
	})
	switch {
	case l.Shadow:
	case l.OnFailure == policy.Closed:
		pt.closed = append(pt.closed, l.Name)
	case l.OnFailure == policy.Local:
		local := pt.alone()
		row.Limit, row.Burst = shareOf(row.Limit, l.Share), shareOf(row.Burst, l.Share)
		local.params.Limits = append(local.params.Limits, row)
		state := pt.limits[len(pt.limits)-1]
		state.Limit, state.Burst = row.Limit, row.Burst
		local.limits = append(local.limits, state)
	}
}

func (pt *part) addCost(p *policy.Policy, e *policy.Endpoint) {
	if p.Cost == nil || e.Cost == nil {
		return
	}
	c := p.Cost
	pt.params.Hold, pt.params.Penalty = c.Hold, c.Penalty
	pt.estimate = fcall.Micros(e.Cost.Estimate)
	for _, b := range c.Budgets {
		pt.params.Budgets = append(pt.params.Budgets, guard.AdmitBudgets{Budget: fcall.Micros(b.Budget), Window: b.Window})
		pt.names = append(pt.names, b.Name)
	}
	switch c.OnFailure {
	case policy.Closed:
		pt.closed = append(pt.closed, "cost")
	case policy.Local:
		local := pt.alone()
		local.params.Hold, local.params.Penalty = c.Hold, c.Penalty
		local.estimate, local.names = pt.estimate, pt.names
		for _, b := range c.Budgets {
			local.params.Budgets = append(local.params.Budgets, guard.AdmitBudgets{
				Budget: fcall.Micros(shareOf(int64(b.Budget), p.Share)), Window: b.Window,
			})
		}
	}
}

func (pt *part) addAbuse(p *policy.Policy, e *policy.Endpoint) {
	a := p.Abuse
	if a == nil {
		return
	}
	if e.Abuse != "" {
		for _, t := range a.Tiers {
			pt.params.Tiers = append(pt.params.Tiers, guard.AdmitTiers{Threshold: t.Threshold, Window: t.Window, Block: t.Block})
		}
		for _, d := range a.Escalation {
			pt.params.Escalation = append(pt.params.Escalation, guard.AdmitEscalation{Block: d})
		}
		pt.params.StrikeMemory = a.StrikeMemory
		pt.params.CountRefused = e.Abuse == policy.CountRefused
		pt.uncached = true
	}
	switch a.OnFailure {
	case policy.Closed:
		pt.closed = append(pt.closed, "abuse")
	case policy.Local:
		local := pt.alone()
		local.params.Tiers, local.params.Escalation = pt.params.Tiers, pt.params.Escalation
		local.params.StrikeMemory, local.params.CountRefused = pt.params.StrikeMemory, pt.params.CountRefused
	}
}

func (pt *part) alone() *part {
	if pt.local == nil {
		pt.local = &part{global: pt.global}
	}
	return pt.local
}

func (pt *part) finish(bucket fcall.Subject) {
	pt.params.Bucket = bucket
	if pt.local != nil {
		pt.local.params.Bucket = bucket
		pt.local.uncached = pt.uncached
	}
}

// shareOf is what one process may take of a limit: rounded down, and at least 1.
func shareOf(limit int64, share float64) int64 {
	if limit == 0 {
		return 0
	}
	return max(1, int64(math.Floor(float64(limit)*share)))
}
