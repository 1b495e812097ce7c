package guard

import (
	"fmt"
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

// snapshot are a compiled policy.
type snapshot struct {
	policy *policy.Policy

	client     grouping
	clock      func() time.Time
	byName     map[string]*plan
	exceptions *atomic.Pointer[exceptions] // shared with the tariffs
	batches    *batches                    // shared with the tariffs
	tariffs    map[string]func() *snapshot // of clients with a plan of the policy, by its name; compiled by their first request
}

// hasTariffs reports whether some clients have other limits.
func (rules *snapshot) hasTariffs() bool { return len(rules.tariffs) > 0 }

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
func (ep *plan) budgetPolicy(i int) *policy.Budget { return ep.budgets[i].policy }

// compile compiles a policy that was checked and completed. It starts the batches of its limits. clock finds the periods of quotas.
func compile(p *policy.Policy, clock func() time.Time, start batchStarter) *snapshot {
	batches := &batches{start: start, byName: map[string]*prefetch.Limiter{}}
	rules := compileTariff(p, clock, batches)
	rules.exceptions = new(atomic.Pointer[exceptions])
	rules.override(nil, nil)
	if p.Plans == nil {
		return rules
	}
	rules.tariffs = make(map[string]func() *snapshot, len(p.Plans.Named))
	for name := range p.Plans.Named {
		rules.tariffs[name] = sync.OnceValue(func() *snapshot {
			tariff := compileTariff(p.ForPlan(name), clock, batches)
			tariff.exceptions = rules.exceptions
			return tariff
		})
	}
	return rules
}

// forSubjects returns the tariff that one of the subjects has, or the policy's own limits.
func (rules *snapshot) forSubjects(subjects []string) *snapshot {
	if name := rules.policy.Plan(subjects); name != "" {
		return rules.tariffs[name]()
	}
	return rules
}

// compileTariff compiles one set of limits.
func compileTariff(p *policy.Policy, clock func() time.Time, batches *batches) *snapshot {
	rules := &snapshot{
		policy: p, clock: clock, batches: batches,
		client: newGrouping(p, policy.By{policy.ByClient}, ""), byName: make(map[string]*plan, len(p.Endpoints)),
	}
	for i := range p.Endpoints {
		rules.byName[p.Endpoints[i].Name] = rules.compile(&p.Endpoints[i])
	}
	for i := range p.Upstreams {
		alone := p.Outbound(&p.Upstreams[i])
		ep := (&snapshot{policy: alone, clock: clock, batches: batches}).compile(&alone.Endpoints[0])
		ep.outbound = true
		rules.byName[p.Upstreams[i].Name] = ep
	}
	return rules
}

// compile compiles one endpoint.
func (rules *snapshot) compile(e *policy.Endpoint) *plan {
	p, ep := rules.policy, &plan{endpoint: e, unbounded: e.Unbounded, share: rules.policy.Share, clock: rules.clock}
	ep.scope = ep
	// Limits of one subject stand together, and global limits last, so that a refusal names the client's own limit first.
	for _, global := range []bool{false, true} {
		for i := range p.Limits {
			ep.add(rules, "", &p.Limits[i], global)
		}
		for i := range e.Limits {
			ep.add(rules, e.Name, &e.Limits[i], global)
		}
	}
	if e.Idempotency != nil {
		ep.dedup, ep.repeats = e.Idempotency.For, e.Idempotency.Repeats
	}
	ep.addCost(p, e)
	ep.addBlock(p, e)
	if c := e.Challenge; c != nil {
		ep.challenge = new(newGrouping(p, c.By, ""))
		ep.params.ChallengeRequired, ep.onChallenge = c.Required, policy.Closed // a process alone cannot know whether it was consumed
		if p.OnFailure == policy.Open {
			ep.onChallenge = policy.Open
		}
	}
	ep.countsAttempts = ep.attempts != nil
	return ep
}

// add adds a limit if it matches global.
func (ep *plan) add(rules *snapshot, endpoint string, l *policy.Limit, global bool) {
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
		grouping: newGrouping(rules.policy, l.By, limitName),
	}
	r.calendar, _ = l.Calendar() // the policy was checked
	if l.Kind == policy.Concurrency {
		r.limit.Window = l.Lease
		ep.concurrent |= 1 << len(ep.rows)
	}
	if l.Prefetch != nil {
		r.tokens = rules.batches.of(r, l.Prefetch, ep.clock)
		ep.prefetched |= 1 << len(ep.rows)
	}
	ep.counting = ep.counting || l.Count != nil
	if l.Shadow {
		r.onFailure = policy.Open
	}
	ep.rows = append(ep.rows, r)
}

func (ep *plan) addCost(p *policy.Policy, e *policy.Endpoint) {
	if e.Cost == nil {
		return
	}
	ep.params.Hold, ep.penalty = e.Cost.Hold, e.Cost.Penalty
	ep.estimate = fcall.Micros(e.Cost.Estimate)
	for i := range p.Budgets {
		b := &p.Budgets[i]
		row := genguard.Budget{Budget: fcall.Micros(b.Budget), Window: b.Window, Unit: b.Unit, Name: b.Name}
		if b.Unit != "" {
			row.Budget /= wholeUnit
			if !slices.ContainsFunc(ep.units, func(a Amount) bool { return a.Unit == b.Unit }) {
				ep.units = append(ep.units, Amount{Unit: b.Unit, N: e.Cost.Units[b.Unit]})
			}
		}
		periods, _ := b.Calendar() // the policy was checked
		ep.budgets = append(ep.budgets, planBudget{Budget: row, policy: b, grouping: newGrouping(p, b.By, agreed.GlobalAccount), calendar: periods})
	}
}

func (ep *plan) addBlock(p *policy.Policy, e *policy.Endpoint) {
	b := p.BlockOf(e)
	if b == nil {
		return
	}
	ep.block, ep.attempts = b, new(newGrouping(p, b.By, ""))
	var tiers []genguard.AdmitTiers
	for _, t := range b.Tiers {
		tiers = append(tiers, genguard.AdmitTiers{Threshold: t.Threshold, Window: t.Window, Block: t.Block})
	}
	var escalation []genguard.AdmitEscalation
	for _, d := range b.Escalation {
		escalation = append(escalation, genguard.AdmitEscalation{Block: d})
	}
	ep.params.Tiers, ep.params.Escalation = genguard.PackAdmitTiers(tiers...), genguard.PackAdmitEscalation(escalation...)
	ep.params.Block, ep.params.StrikeMemory = b.Name, b.StrikeMemory
	ep.params.CountRefused = b.Attempts == policy.CountRefused
}

// needsLocal reports whether any failure mode is local.
func (rules *snapshot) needsLocal() bool {
	for _, ep := range rules.byName {
		local := func(r planLimit) bool { return r.onFailure == policy.Local }
		spends := func(b planBudget) bool { return b.policy.OnFailure == policy.Local }
		if ep.block != nil && ep.block.OnFailure == policy.Local || slices.ContainsFunc(ep.rows, local) || slices.ContainsFunc(ep.budgets, spends) {
			return true
		}
	}
	return false
}

// plan returns an endpoint or upstream by its name.
func (rules *snapshot) plan(name string) (*plan, error) {
	ep, ok := rules.byName[name]
	if !ok {
		return nil, fmt.Errorf("decide %q: %w", name, ErrEndpoint)
	}
	return ep, nil
}
