package guard

import (
	"math"
	"slices"
	"sync"
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
	whole    []*part // one call with all limits, where one server has every key
	split    []*part // subject and globals, each in its own hash slot
}

// A part is one call: about a subject, a global limit, or a subject with the global limits.
type part struct {
	global  fcall.Subject     // whose global limit it is about; "" is the request's subject
	params  guard.AdmitParams // what every call has
	rows    []guard.Limit
	of      []fcall.Subject // of the rows; "" is the request's subject. Nil where every row is the call's
	limits  []LimitState    // a row for each limit, as far as the policy says
	budgets []BudgetState
	once    *scale   // what a subject has without an override
	scales  sync.Map // by multiplier: *scale

	challenge  bool     // a challenge is looked at
	failClosed []string // what refuses without Redis
	local      *part    // what is decided here without Redis; nil when nothing is
	uncached   bool     // refusals are attempts, so none is answered from memory but a block
	estimate   fcall.Micros
}

// A scale is a part's limits and budgets times a multiplier.
type scale struct {
	packed        guard.LimitPack
	packedBudgets guard.AdmitBudgetsPack
	limits        []LimitState
	budgets       []BudgetState
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
		pl := &plan{endpoint: e, subject: subjectPart(p, e, false), globals: shared[:len(shared):len(shared)]}
		if e.Dedup != nil {
			pl.dedup = *e.Dedup
		}
		for j := range e.Global {
			pl.globals = append(pl.globals, globalPart(p, e.Name, &e.Global[j]))
		}
		pl.split = append([]*part{pl.subject}, pl.globals...)
		pl.whole = pl.split
		if len(pl.globals) > 0 && len(pl.subject.rows)+len(pl.globals) <= mostRows {
			pl.whole = []*part{subjectPart(p, e, true)}
		}
		ps.byName[e.Name] = pl
	}
	return ps
}

func (ps *plans) needsLocal() bool {
	for _, pl := range ps.byName {
		for _, pt := range pl.split {
			if pt.local != nil {
				return true
			}
		}
	}
	return false
}

func globalPart(p *policy.Policy, endpoint string, l *policy.Limit) *part {
	pt := &part{global: globalSubject(endpoint, l)}
	pt.add(endpoint, l, "", true)
	pt.finish()
	return pt
}

// globalSubject is what a global limit is kept for.
func globalSubject(endpoint string, l *policy.Limit) fcall.Subject {
	return fcall.Subject(policy.Everybody + policy.WireName(endpoint, l.Name))
}

// subjectPart is the call about a subject, with the global limits or without.
func subjectPart(p *policy.Policy, e *policy.Endpoint, globals bool) *part {
	pt := new(part)
	for i := range p.Limits {
		pt.add("", &p.Limits[i], "", false)
	}
	for i := range e.Limits {
		pt.add(e.Name, &e.Limits[i], "", false)
	}
	if globals {
		for i := range p.Global {
			pt.add("", &p.Global[i], globalSubject("", &p.Global[i]), true)
		}
		for i := range e.Global {
			pt.add(e.Name, &e.Global[i], globalSubject(e.Name, &e.Global[i]), true)
		}
	}
	pt.addCost(p, e)
	pt.addAbuse(p, e)
	if c := e.Challenge; c != nil {
		pt.challenge = true
		pt.params.ChallengeRequired = c.Required
		if c.OnFailure == policy.Closed {
			pt.failClosed = append(pt.failClosed, "challenge")
		}
	}
	pt.finish()
	return pt
}

// add adds a limit to the call, and what it does without Redis.
func (pt *part) add(endpoint string, l *policy.Limit, of fcall.Subject, global bool) {
	row := guard.Limit{
		Name: policy.WireName(endpoint, l.Name), Kind: guard.LimitKind(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst,
		Cost: new(l.Cost), Shadow: l.Shadow, Global: global,
	}
	state := LimitState{
		Name: l.Name, Kind: l.Kind, Limit: l.Limit, Window: l.Window, Burst: l.Burst, Global: global, Shadow: l.Shadow,
	}
	pt.row(row, state, of)
	switch {
	case l.Shadow:
	case l.OnFailure == policy.Closed:
		pt.failClosed = append(pt.failClosed, l.Name)
	case l.OnFailure == policy.Local:
		row.Limit, row.Burst = shareOf(row.Limit, l.Share), shareOf(row.Burst, l.Share)
		state.Limit, state.Burst = row.Limit, row.Burst
		pt.alone().row(row, state, of)
	}
}

func (pt *part) row(row guard.Limit, state LimitState, of fcall.Subject) {
	pt.rows, pt.limits, pt.of = append(pt.rows, row), append(pt.limits, state), append(pt.of, of)
}

func (pt *part) addCost(p *policy.Policy, e *policy.Endpoint) {
	if p.Cost == nil || e.Cost == nil {
		return
	}
	c := p.Cost
	pt.params.Hold, pt.params.Penalty = c.Hold, c.Penalty
	pt.estimate = fcall.Micros(e.Cost.Estimate)
	for _, b := range c.Budgets {
		pt.budgets = append(pt.budgets, BudgetState{Name: b.Name, Budget: fcall.Micros(b.Budget), Window: b.Window})
	}
	switch c.OnFailure {
	case policy.Closed:
		pt.failClosed = append(pt.failClosed, "cost")
	case policy.Local:
		local := pt.alone()
		local.params.Hold, local.params.Penalty = c.Hold, c.Penalty
		local.estimate = pt.estimate
		for _, b := range c.Budgets {
			local.budgets = append(local.budgets, BudgetState{Name: b.Name, Budget: fcall.Micros(shareOf(int64(b.Budget), p.Share)), Window: b.Window})
		}
	}
}

func (pt *part) addAbuse(p *policy.Policy, e *policy.Endpoint) {
	a := p.Abuse
	if a == nil {
		return
	}
	if e.Abuse != "" {
		var tiers []guard.AdmitTiers
		for _, t := range a.Tiers {
			tiers = append(tiers, guard.AdmitTiers{Threshold: t.Threshold, Window: t.Window, Block: t.Block})
		}
		var escalation []guard.AdmitEscalation
		for _, d := range a.Escalation {
			escalation = append(escalation, guard.AdmitEscalation{Block: d})
		}
		pt.params.Tiers, pt.params.Escalation = guard.MustPackAdmitTiers(tiers...), guard.MustPackAdmitEscalation(escalation...)
		pt.params.StrikeMemory = a.StrikeMemory
		pt.params.CountRefused = e.Abuse == policy.CountRefused
		pt.uncached = true
	}
	switch a.OnFailure {
	case policy.Closed:
		pt.failClosed = append(pt.failClosed, "abuse")
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

// finish packs what every subject without an override has.
func (pt *part) finish() {
	pt.params.Bucket = pt.global
	if !slices.ContainsFunc(pt.of, func(s fcall.Subject) bool { return s != "" }) {
		pt.of = nil
	}
	pt.once = pt.multiplied(1)
	if pt.local != nil {
		pt.local.uncached = pt.uncached
		pt.local.finish()
	}
}

// times returns the limits and budgets times a multiplier, of which a policy's overrides have few.
func (pt *part) times(n int64) *scale {
	if n == 1 || pt.global != "" {
		return pt.once
	}
	if s, ok := pt.scales.Load(n); ok {
		return s.(*scale)
	}
	s, _ := pt.scales.LoadOrStore(n, pt.multiplied(n))
	return s.(*scale)
}

// multiplied packs limits and budgets times n, but global limits: the policy was checked with every multiplier.
func (pt *part) multiplied(n int64) *scale {
	s := &scale{limits: slices.Clone(pt.limits), budgets: slices.Clone(pt.budgets)}
	rows := slices.Clone(pt.rows)
	for i := range rows {
		if !rows[i].Global {
			rows[i].Limit, rows[i].Burst = rows[i].Limit*n, rows[i].Burst*n
			s.limits[i].Limit, s.limits[i].Burst = rows[i].Limit, rows[i].Burst
		}
	}
	var budgets []guard.AdmitBudgets
	for i := range s.budgets {
		b := &s.budgets[i]
		b.Budget *= fcall.Micros(n)
		budgets = append(budgets, guard.AdmitBudgets{Budget: b.Budget, Window: b.Window})
	}
	s.packed, s.packedBudgets = guard.MustPackLimit(rows...), guard.MustPackAdmitBudgets(budgets...)
	return s
}

// shareOf is what one process may take of a limit: rounded down, and at least 1.
func shareOf(limit int64, share float64) int64 {
	if limit == 0 {
		return 0
	}
	return max(1, int64(math.Floor(float64(limit)*share)))
}
