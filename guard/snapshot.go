package guard

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/calendar"
	"github.com/rlfunc/rlfunc/fcall/prefetch"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// A snapshot is all that a policy compiles to.
type snapshot struct {
	policy *policy.Policy

	client     grouping
	clock      func() time.Time
	endpoints  []*Endpoint
	plans      []*plan                     // of the endpoints, then of the upstreams
	byName     map[string]int              // their indexes
	parts      []any                       // what each compiler made; not of the tariffs
	exceptions *atomic.Pointer[exceptions] // shared with the tariffs
	batches    *batches                    // shared with the tariffs
	tariffs    map[string]func() *snapshot // of clients with a plan of the policy, by its name; compiled by their first request
}

// An Endpoint is an endpoint of a policy that a guard has compiled; see [Request.At].
type Endpoint struct {
	*policy.Endpoint

	snapshot *snapshot
	index    int
}

// closeParts ends the work of what the compilers made.
func (s *snapshot) closeParts() {
	for _, part := range s.parts {
		if c, ok := part.(io.Closer); ok {
			_ = c.Close()
		}
	}
}

// hasTariffs reports whether some clients have other limits.
func (s *snapshot) hasTariffs() bool { return len(s.tariffs) > 0 }

// A plan is what an endpoint's requests are checked against. A call evaluates the rows whose identities the request has.
type plan struct {
	scope          any // of cached refusals: the same each time that these endpoints are compiled
	rows           []planLimit
	params         genguard.AdmitParams // the constant part of a call
	estimate       fcall.Micros
	penalty        time.Duration // how long an account that a settlement exceeds refuses reservations
	units          []Amount      // the estimates in the budgets' other units, in the order of the budgets
	dedup          time.Duration // how long a receipt is known; 0 if the endpoint has none
	countsAttempts bool          // each request is an attempt
	counting       bool          // some limit counts only some responses
	unbounded      bool          // a request that no limit counts may pass
	outbound       bool          // it is an upstream

	prefetched rowSet // rows whose tokens are taken in batches
	concurrent rowSet // rows of kind concurrency, whose places a request holds

	block       *policy.Block    // whose attempts its requests may be; nil if it names none
	onChallenge policy.OnFailure // "" if it has no challenge

	endpoint  *policy.Endpoint
	repeats   *int64    // how often a receipt may repeat
	attempts  *grouping // nil if requests are not attempts
	challenge *grouping // nil without challenges
	budgets   []planBudget
	share     float64 // of limits and budgets that this process admits in failure mode local

	clock  func() time.Time
	shapes shapeCache
}

// A planLimit is a limit of the policy.
type planLimit struct {
	limit     genguard.Limit
	name      string // in the policy
	endpoint  string // the endpoint that has the limit; "" for a limit of the whole policy
	kind      policy.Kind
	onFailure policy.OnFailure
	count     *policy.Responses // the responses that it counts; nil for all
	scope     *policy.Limit     // of cached refusals: the same each time that these endpoints are compiled
	tokens    *prefetch.Limiter // hands out its tokens in this process; nil if Redis decides each request

	grouping grouping
	calendar *calendar.Calendar // of a quota
}

// A planBudget is a budget of the policy.
type planBudget struct {
	genguard.Budget // in whole ones of a unit, without the period
	policy          *policy.Budget

	grouping grouping
	calendar *calendar.Calendar // nil for a window that slides
}

// budgetPolicy returns a budget as the policy has it.
func (plan *plan) budgetPolicy(i int) *policy.Budget { return plan.budgets[i].policy }

// compile compiles a policy that was checked and completed. It starts the batches of its limits. clock finds the periods of quotas.
func compile(p *policy.Policy, clock func() time.Time, start batchStarter) *snapshot {
	batches := &batches{start: start, byName: map[string]*prefetch.Limiter{}}
	s := compileTariff(p, clock, batches)
	s.exceptions = new(atomic.Pointer[exceptions])
	s.override(nil, nil)
	if p.Plans == nil {
		return s
	}
	s.tariffs = make(map[string]func() *snapshot, len(p.Plans.Named))
	for name := range p.Plans.Named {
		s.tariffs[name] = sync.OnceValue(func() *snapshot {
			tariff := compileTariff(p.ForPlan(name), clock, batches)
			tariff.exceptions = s.exceptions
			return tariff
		})
	}
	return s
}

// forSubjects returns the tariff that one of the subjects has, or the policy's own limits.
func (s *snapshot) forSubjects(subjects []string) *snapshot {
	if name := s.policy.Plan(subjects); name != "" {
		return s.tariffs[name]()
	}
	return s
}

// compileTariff compiles one set of limits.
func compileTariff(p *policy.Policy, clock func() time.Time, batches *batches) *snapshot {
	s := &snapshot{
		policy: p, clock: clock, batches: batches,
		client: newGrouping(p, policy.By{policy.ByClient}, ""), byName: make(map[string]int, len(p.Endpoints)),
	}
	add := func(name string, plan *plan) {
		s.byName[name] = len(s.plans)
		s.plans = append(s.plans, plan)
	}
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		s.endpoints = append(s.endpoints, &Endpoint{e, s, i})
		add(e.Name, s.compile(e))
	}
	for i := range p.Upstreams {
		alone := p.Outbound(&p.Upstreams[i])
		plan := (&snapshot{policy: alone, clock: clock, batches: batches}).compile(&alone.Endpoints[0])
		plan.outbound = true
		add(p.Upstreams[i].Name, plan)
	}
	return s
}

// compile compiles one endpoint.
func (s *snapshot) compile(e *policy.Endpoint) *plan {
	p, plan := s.policy, &plan{endpoint: e, unbounded: e.Unbounded, share: s.policy.Share, clock: s.clock}
	plan.scope = plan
	// Limits of one subject stand together, and global limits last, so that a refusal names the client's own limit first.
	for _, global := range []bool{false, true} {
		for i := range p.Limits {
			plan.add(s, "", &p.Limits[i], global)
		}
		for i := range e.Limits {
			plan.add(s, e.Name, &e.Limits[i], global)
		}
	}
	if e.Idempotency != nil {
		plan.dedup, plan.repeats = e.Idempotency.For, e.Idempotency.Repeats
	}
	plan.addCost(p, e)
	plan.addBlock(p, e)
	if c := e.Challenge; c != nil {
		plan.challenge = new(newGrouping(p, c.By, ""))
		plan.params.ChallengeRequired, plan.onChallenge = c.Required, policy.Closed // a process alone cannot know whether it was consumed
		if p.OnFailure == policy.Open {
			plan.onChallenge = policy.Open
		}
	}
	plan.countsAttempts = plan.attempts != nil
	return plan
}

// add adds a limit if it matches global.
func (plan *plan) add(snapshot *snapshot, endpoint string, l *policy.Limit, global bool) {
	if l.By.Global() != global {
		return
	}
	limitName := agreed.LimitName(endpoint, l.Name)
	r := planLimit{
		limit: genguard.Limit{
			Name: limitName, Kind: genguard.LimitKind(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst,
			Cost: new(l.Weight), Shadow: l.Shadow, Global: global,
		},
		name: l.Name, endpoint: endpoint, kind: l.Kind, onFailure: l.OnFailure, count: l.Count, scope: l,
		grouping: newGrouping(snapshot.policy, l.By, limitName),
	}
	r.calendar, _ = l.Calendar() // the policy was checked
	if l.Kind == policy.Concurrency {
		r.limit.Window = l.Lease
		plan.concurrent |= 1 << len(plan.rows)
	}
	if l.Prefetch != nil {
		r.tokens = snapshot.batches.of(r, l.Prefetch, plan.clock)
		plan.prefetched |= 1 << len(plan.rows)
	}
	plan.counting = plan.counting || l.Count != nil
	if l.Shadow {
		r.onFailure = policy.Open
	}
	plan.rows = append(plan.rows, r)
}

func (plan *plan) addCost(p *policy.Policy, e *policy.Endpoint) {
	if e.Cost == nil {
		return
	}
	plan.params.Hold, plan.penalty = e.Cost.Hold, e.Cost.Penalty
	plan.estimate = fcall.Micros(e.Cost.Estimate)
	for i := range p.Budgets {
		b := &p.Budgets[i]
		row := genguard.Budget{Budget: fcall.Micros(b.Budget), Window: b.Window, Unit: b.Unit, Name: b.Name}
		if b.Unit != "" {
			row.Budget /= wholeUnit
			if !slices.ContainsFunc(plan.units, func(a Amount) bool { return a.Unit == b.Unit }) {
				plan.units = append(plan.units, Amount{Unit: b.Unit, N: e.Cost.Units[b.Unit]})
			}
		}
		periods, _ := b.Calendar() // the policy was checked
		plan.budgets = append(plan.budgets, planBudget{Budget: row, policy: b, grouping: newGrouping(p, b.By, agreed.GlobalAccount), calendar: periods})
	}
}

func (plan *plan) addBlock(p *policy.Policy, e *policy.Endpoint) {
	b := p.BlockOf(e)
	if b == nil {
		return
	}
	plan.block, plan.attempts = b, new(newGrouping(p, b.By, ""))
	var tiers []genguard.AdmitTiers
	for _, t := range b.Tiers {
		tiers = append(tiers, genguard.AdmitTiers{Threshold: t.Threshold, Window: t.Window, Block: t.Block})
	}
	var escalation []genguard.AdmitEscalation
	for _, d := range b.Escalation {
		escalation = append(escalation, genguard.AdmitEscalation{Block: d})
	}
	plan.params.Tiers, plan.params.Escalation = genguard.PackAdmitTiers(tiers...), genguard.PackAdmitEscalation(escalation...)
	plan.params.Block, plan.params.StrikeMemory = b.Name, b.StrikeMemory
	plan.params.CountRefused = b.Attempts == policy.CountRefused
}

// needsLocal reports whether any failure mode is local.
func (s *snapshot) needsLocal() bool {
	for _, plan := range s.plans {
		local := func(r planLimit) bool { return r.onFailure == policy.Local }
		spends := func(b planBudget) bool { return b.policy.OnFailure == policy.Local }
		if plan.block != nil && plan.block.OnFailure == policy.Local || slices.ContainsFunc(plan.rows, local) || slices.ContainsFunc(plan.budgets, spends) {
			return true
		}
	}
	return false
}

// plan returns the snapshot and the plan of a request, and checks the request. s is the current snapshot.
func (s *snapshot) plan(r *Request) (*snapshot, *plan, error) {
	if r.At != nil && r.At.snapshot != nil {
		s = r.At.snapshot.forSubjects(r.Subjects)
		return s, s.plans[r.At.index], r.checkAmounts()
	}
	i, ok := s.byName[r.Endpoint]
	if !ok {
		return nil, nil, fmt.Errorf("decide %q: %w", r.Endpoint, ErrEndpoint)
	}
	s = s.forSubjects(r.Subjects)
	return s, s.plans[i], cmp.Or(r.checkAmounts(), r.checkSubjects())
}
