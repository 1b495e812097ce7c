// Package decide compiles a policy, asks Redis about each request behind circuit breakers, applies failure modes, and keeps what requests hold.
package decide

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/calendar"
	"github.com/rlfunc/rlfunc/fcall/prefetch"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// Rules are a compiled policy.
type Rules struct {
	Policy *policy.Policy

	client    grouping
	clock     func() time.Time
	byName    map[string]*Endpoint
	overrides *atomic.Pointer[Overrides] // shared with the tariffs
	batches   *Batches                   // shared with the tariffs
	tariffs   map[string]func() *Rules   // of clients with a plan of the policy, by its name; compiled by their first request
}

// HasTariffs reports whether some clients have other limits.
func (rules *Rules) HasTariffs() bool { return len(rules.tariffs) > 0 }

// An Endpoint is what an endpoint's requests are checked against. A call evaluates the rows whose identities the request has.
type Endpoint struct {
	Scope     any // of cached refusals: the same each time that these endpoints are compiled
	Rows      []Row
	Params    guard.AdmitParams // the constant part of a call
	Estimate  fcall.Micros
	Penalty   time.Duration // how long an account that a settlement exceeds refuses reservations
	Units     []Amount      // the estimates in the budgets' other units, in the order of the budgets
	Dedup     time.Duration // how long a receipt is known; 0 if the endpoint has none
	Attempts  bool          // each request is an attempt
	Counting  bool          // some limit counts only some responses
	Unbounded bool          // a request that no limit counts may pass
	Outbound  bool          // it is an upstream

	Prefetched RowSet // rows whose tokens are taken in batches
	Concurrent RowSet // rows of kind concurrency, whose places a request holds

	Block       *policy.Block    // whose attempts its requests may be; nil if it names none
	OnChallenge policy.OnFailure // "" if it has no challenge

	endpoint  *policy.Endpoint
	repeats   *int64    // how often a receipt may repeat
	attempts  *grouping // nil if requests are not attempts
	challenge *grouping // nil without challenges
	budgets   []Budget
	share     float64 // this process's share of the budgets

	clock     func() time.Time
	packCache packCache
}

// A Row is a limit of the policy.
type Row struct {
	Limit     guard.Limit
	Name      string // in the policy
	Endpoint  string // the endpoint that has the limit; "" for a limit of the whole policy
	Kind      policy.Kind
	OnFailure policy.OnFailure
	Count     *policy.Responses // the responses that it counts; nil for all
	Scope     *policy.Limit     // of cached refusals: the same each time that these endpoints are compiled
	Tokens    *prefetch.Limiter // hands out its tokens in this process; nil if Redis decides each request

	grouping grouping
	share    float64
	calendar *calendar.Calendar // of a quota
}

// A Budget is a budget of the policy.
type Budget struct {
	guard.Budget // in whole ones of a unit, without the period
	Policy       *policy.Budget

	grouping grouping
	calendar *calendar.Calendar // nil for a window that slides
}

// Budget returns a budget as the policy has it.
func (ep *Endpoint) Budget(i int) *policy.Budget { return ep.budgets[i].Policy }

// Compile compiles a policy that was checked and completed. It starts the batches of its limits. clock finds the periods of quotas.
func Compile(p *policy.Policy, clock func() time.Time, start StartBatches) *Rules {
	batches := &Batches{start: start, byName: map[string]*prefetch.Limiter{}}
	rules := compileTariff(p, clock, batches)
	rules.overrides = new(atomic.Pointer[Overrides])
	rules.Override(nil, nil)
	if p.Plans == nil {
		return rules
	}
	rules.tariffs = make(map[string]func() *Rules, len(p.Plans.Named))
	for name := range p.Plans.Named {
		rules.tariffs[name] = sync.OnceValue(func() *Rules {
			tariff := compileTariff(p.ForPlan(name), clock, batches)
			tariff.overrides = rules.overrides
			return tariff
		})
	}
	return rules
}

// ForSubjects returns the tariff that one of the subjects has, or the policy's own limits.
func (rules *Rules) ForSubjects(subjects []string) *Rules {
	if name := rules.Policy.Plan(subjects); name != "" {
		return rules.tariffs[name]()
	}
	return rules
}

// compileTariff compiles one set of limits.
func compileTariff(p *policy.Policy, clock func() time.Time, batches *Batches) *Rules {
	rules := &Rules{
		Policy: p, clock: clock, batches: batches,
		client: newGrouping(p, policy.By{policy.ByClient}, ""), byName: make(map[string]*Endpoint, len(p.Endpoints)),
	}
	for i := range p.Endpoints {
		rules.byName[p.Endpoints[i].Name] = rules.compile(&p.Endpoints[i])
	}
	for i := range p.Upstreams {
		alone := p.Outbound(&p.Upstreams[i])
		ep := (&Rules{Policy: alone, clock: clock, batches: batches}).compile(&alone.Endpoints[0])
		ep.Outbound = true
		rules.byName[p.Upstreams[i].Name] = ep
	}
	return rules
}

// compile compiles one endpoint.
func (rules *Rules) compile(e *policy.Endpoint) *Endpoint {
	p, ep := rules.Policy, &Endpoint{endpoint: e, Unbounded: e.Unbounded, clock: rules.clock}
	ep.Scope = ep
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
		ep.Dedup, ep.repeats = e.Idempotency.For, e.Idempotency.Repeats
	}
	ep.addCost(p, e)
	ep.addBlock(p, e)
	if c := e.Challenge; c != nil {
		ep.challenge = new(newGrouping(p, c.By, ""))
		ep.Params.ChallengeRequired, ep.OnChallenge = c.Required, policy.Closed // a process alone cannot know whether it was consumed
		if p.OnFailure == policy.Open {
			ep.OnChallenge = policy.Open
		}
	}
	ep.Attempts = ep.attempts != nil
	return ep
}

// add adds a limit if it matches global.
func (ep *Endpoint) add(rules *Rules, endpoint string, l *policy.Limit, global bool) {
	if l.By.Global() != global {
		return
	}
	limitName := agreed.LimitName(endpoint, l.Name)
	r := Row{
		Limit: guard.Limit{
			Name: limitName, Kind: guard.LimitKind(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst,
			Cost: new(l.Weight), Shadow: l.Shadow, Global: global,
		},
		Name: l.Name, Endpoint: endpoint, Kind: l.Kind, OnFailure: l.OnFailure, Count: l.Count, Scope: l,
		grouping: newGrouping(rules.Policy, l.By, limitName), share: l.Share,
	}
	r.calendar, _ = l.Calendar() // the policy was checked
	if l.Kind == policy.Concurrency {
		r.Limit.Window = l.Lease
		ep.Concurrent |= 1 << len(ep.Rows)
	}
	if l.Prefetch != nil {
		r.Tokens = rules.batches.of(r, l.Prefetch, ep.clock)
		ep.Prefetched |= 1 << len(ep.Rows)
	}
	ep.Counting = ep.Counting || l.Count != nil
	if l.Shadow {
		r.OnFailure = policy.Open
	}
	ep.Rows = append(ep.Rows, r)
}

func (ep *Endpoint) addCost(p *policy.Policy, e *policy.Endpoint) {
	if e.Cost == nil {
		return
	}
	ep.share, ep.Params.Hold, ep.Penalty = p.Share, e.Cost.Hold, e.Cost.Penalty
	ep.Estimate = fcall.Micros(e.Cost.Estimate)
	for i := range p.Budgets {
		b := &p.Budgets[i]
		row := guard.Budget{Budget: fcall.Micros(b.Budget), Window: b.Window, Unit: b.Unit}
		if b.Unit != "" {
			row.Budget /= Unit
			if !slices.ContainsFunc(ep.Units, func(a Amount) bool { return a.Unit == b.Unit }) {
				ep.Units = append(ep.Units, Amount{Unit: b.Unit, N: e.Cost.Units[b.Unit]})
			}
		}
		periods, _ := b.Calendar() // the policy was checked
		ep.budgets = append(ep.budgets, Budget{Budget: row, Policy: b, grouping: newGrouping(p, b.By, agreed.GlobalAccount), calendar: periods})
	}
}

func (ep *Endpoint) addBlock(p *policy.Policy, e *policy.Endpoint) {
	b := p.BlockOf(e)
	if b == nil {
		return
	}
	ep.Block, ep.attempts = b, new(newGrouping(p, b.By, ""))
	var tiers []guard.AdmitTiers
	for _, t := range b.Tiers {
		tiers = append(tiers, guard.AdmitTiers{Threshold: t.Threshold, Window: t.Window, Block: t.Block})
	}
	var escalation []guard.AdmitEscalation
	for _, d := range b.Escalation {
		escalation = append(escalation, guard.AdmitEscalation{Block: d})
	}
	ep.Params.Tiers, ep.Params.Escalation = guard.PackAdmitTiers(tiers...), guard.PackAdmitEscalation(escalation...)
	ep.Params.Block, ep.Params.StrikeMemory = b.Name, b.StrikeMemory
	ep.Params.CountRefused = b.Attempts == policy.CountRefused
}

// NeedsLocal reports whether any failure mode is local.
func (rules *Rules) NeedsLocal() bool {
	for _, ep := range rules.byName {
		local := func(r Row) bool { return r.OnFailure == policy.Local }
		spends := func(b Budget) bool { return b.Policy.OnFailure == policy.Local }
		if ep.Block != nil && ep.Block.OnFailure == policy.Local || slices.ContainsFunc(ep.Rows, local) || slices.ContainsFunc(ep.budgets, spends) {
			return true
		}
	}
	return false
}

// Endpoint returns an endpoint or upstream by its name.
func (rules *Rules) Endpoint(name string) (*Endpoint, error) {
	ep, ok := rules.byName[name]
	if !ok {
		return nil, fmt.Errorf("decide %q: %w", name, ErrEndpoint)
	}
	return ep, nil
}
