package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/calendar"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/wire"
	"github.com/rlfunc/rlfunc/prefetch"
)

// Plans is a compiled policy.
type Plans struct {
	Policy       *policy.Policy
	SettleLimits []cost.SettleLimits // for a settlement by name: the largest budgets of any tariff

	client     grouping
	clock      func() time.Time
	byName     map[string]*Plan
	unions     sync.Map // plans of several endpoints, by a union
	unionCount atomic.Int64
	overrides  *atomic.Pointer[Overrides] // shared with the tariffs
	batches    *Batches                   // shared with the tariffs
	tariffs    map[string]func() *Plans   // of clients with a plan of the policy, by its name; compiled by their first request
}

// HasTariffs reports whether some clients have other limits.
func (ps *Plans) HasTariffs() bool { return len(ps.tariffs) > 0 }

// A Plan is what an endpoint's requests are checked against. A call evaluates the rows whose identities the request has.
type Plan struct {
	Scope     any // of cached refusals: the same for each plan of these endpoints
	Rows      []Row
	Params    guard.AdmitParams // the constant part of a call
	Estimate  fcall.Micros
	Dedup     time.Duration // how long a receipt is known; 0 if the endpoint has none
	Attempts  bool          // each request is an attempt
	Counting  bool          // some limit counts only some responses
	Unbounded bool          // a request that no limit counts may pass

	Prefetched RowSet // rows whose tokens are taken in batches
	Concurrent RowSet // rows of kind concurrency, whose places a request holds

	OnCost, OnAbuse, OnChallenge policy.OnFailure // "" if the policy has no such section

	endpoint  *policy.Endpoint
	place     int       // of the endpoint in the policy
	repeats   *int64    // how often a receipt may repeat
	account   *grouping // of the budgets; nil without budgets
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
	Scope     *policy.Limit     // of cached refusals: the same in each plan
	Tokens    *prefetch.Limiter // hands out its tokens in this process; nil if Redis decides each request

	grouping grouping
	share    float64
	calendar *calendar.Calendar // of a quota
	maxRate  int64              // most that a request's rate may admit in the window; 0 if a request cannot bring one
}

// A Budget is a budget of the policy.
type Budget struct {
	Name   string
	Budget fcall.Micros
	Window time.Duration
}

// Compile compiles a policy that was checked and completed. It starts the batches of its limits. clock finds the periods of quotas.
func Compile(p *policy.Policy, clock func() time.Time, start StartBatches) *Plans {
	batches := &Batches{start: start, byName: map[string]*prefetch.Limiter{}}
	ps := compileTariff(p, clock, batches)
	ps.overrides = new(atomic.Pointer[Overrides])
	ps.Override(p.Overrides)
	if p.Plans == nil {
		return ps
	}
	ps.tariffs = make(map[string]func() *Plans, len(p.Plans.Named))
	for name, differs := range p.Plans.Named {
		if p.Cost != nil {
			for i, b := range p.Cost.Budgets {
				ps.SettleLimits[i].Budget = max(ps.SettleLimits[i].Budget, fcall.Micros(differs.Budgets[b.Name]))
			}
		}
		ps.tariffs[name] = sync.OnceValue(func() *Plans {
			tariff := compileTariff(p.ForPlan(name), clock, batches)
			tariff.overrides = ps.overrides
			return tariff
		})
	}
	return ps
}

// ForSubjects returns the tariff that one of the subjects has, or the policy's own limits.
func (ps *Plans) ForSubjects(subjects []string) *Plans {
	if name := ps.Policy.Plan(subjects); name != "" {
		return ps.tariffs[name]()
	}
	return ps
}

// compileTariff compiles one set of limits.
func compileTariff(p *policy.Policy, clock func() time.Time, batches *Batches) *Plans {
	ps := &Plans{
		Policy: p, clock: clock, batches: batches,
		client: newGrouping(p, policy.By{policy.ByClient}, ""), byName: make(map[string]*Plan, len(p.Endpoints)),
	}
	if p.Cost != nil {
		for _, b := range p.Cost.Budgets {
			ps.SettleLimits = append(ps.SettleLimits, cost.SettleLimits{Budget: fcall.Micros(b.Budget), Window: b.Window})
		}
	}
	for i := range p.Endpoints {
		pl := ps.compile(&p.Endpoints[i])
		pl.place = i
		ps.byName[p.Endpoints[i].Name] = pl
	}
	return ps
}

// compile compiles one endpoint, or several whose limits apply together.
func (ps *Plans) compile(endpoints ...*policy.Endpoint) *Plan {
	p, pl := ps.Policy, &Plan{endpoint: endpoints[0], Unbounded: true, clock: ps.clock}
	pl.Scope = pl
	// Limits of one subject stand together, and global limits last, so that a refusal names the client's own limit first.
	for _, global := range []bool{false, true} {
		for i := range p.Limits {
			pl.add(ps, "", &p.Limits[i], global)
		}
		for _, e := range endpoints {
			for i := range e.Limits {
				pl.add(ps, e.Name, &e.Limits[i], global)
			}
		}
	}
	for _, e := range endpoints {
		pl.Unbounded = pl.Unbounded && e.Unbounded
		if e.Idempotency != nil && len(endpoints) == 1 {
			pl.Dedup, pl.repeats = e.Idempotency.For, e.Idempotency.Repeats
		}
		pl.addCost(p, e)
		pl.addAbuse(p, e)
		if c := e.Challenge; c != nil {
			pl.challenge = new(newGrouping(p, c.By, ""))
			pl.Params.ChallengeRequired = pl.Params.ChallengeRequired || c.Required
			pl.OnChallenge = c.OnFailure
		}
	}
	pl.Attempts = pl.attempts != nil
	return pl
}

// add adds a limit if it matches global.
func (pl *Plan) add(ps *Plans, endpoint string, l *policy.Limit, global bool) {
	if l.By.Global() != global {
		return
	}
	limitName := wire.LimitName(endpoint, l.Name)
	r := Row{
		Limit: guard.Limit{
			Name: limitName, Kind: guard.LimitKind(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst,
			Cost: new(l.Cost), Shadow: l.Shadow, Global: global,
		},
		Name: l.Name, Endpoint: endpoint, Kind: l.Kind, OnFailure: l.OnFailure, Count: l.Count, Scope: l,
		grouping: newGrouping(ps.Policy, l.By, limitName), share: l.Share, maxRate: l.DynamicMax,
	}
	r.calendar, _ = l.Calendar() // the policy was checked
	if l.Kind == policy.Concurrency {
		r.Limit.Window = l.Lease
		pl.Concurrent |= 1 << len(pl.Rows)
	}
	if l.Prefetch != nil {
		r.Tokens = ps.batches.of(r, l.Prefetch, pl.clock)
		pl.Prefetched |= 1 << len(pl.Rows)
	}
	pl.Counting = pl.Counting || l.Count != nil
	if l.Shadow {
		r.OnFailure = policy.Open
	}
	pl.Rows = append(pl.Rows, r)
}

func (pl *Plan) addCost(p *policy.Policy, e *policy.Endpoint) {
	c := p.Cost
	if c == nil || e.Cost == nil {
		return
	}
	pl.account, pl.OnCost, pl.share = new(newGrouping(p, c.By, "")), c.OnFailure, p.Share
	pl.Params.Hold, pl.Params.Penalty = c.Hold, c.Penalty
	pl.Estimate = max(pl.Estimate, fcall.Micros(e.Cost.Estimate))
	pl.budgets = nil
	for _, b := range c.Budgets {
		pl.budgets = append(pl.budgets, Budget{Name: b.Name, Budget: fcall.Micros(b.Budget), Window: b.Window})
	}
}

func (pl *Plan) addAbuse(p *policy.Policy, e *policy.Endpoint) {
	a := p.Abuse
	if a == nil {
		return
	}
	pl.OnAbuse = a.OnFailure // also applies to blocks
	if e.Abuse == "" {
		return
	}
	counted := pl.attempts != nil
	pl.attempts = new(newGrouping(p, a.By, ""))
	var tiers []guard.AdmitTiers
	for _, t := range a.Tiers {
		tiers = append(tiers, guard.AdmitTiers{Threshold: t.Threshold, Window: t.Window, Block: t.Block})
	}
	var escalation []guard.AdmitEscalation
	for _, d := range a.Escalation {
		escalation = append(escalation, guard.AdmitEscalation{Block: d})
	}
	pl.Params.Tiers, pl.Params.Escalation = guard.MustPackAdmitTiers(tiers...), guard.MustPackAdmitEscalation(escalation...)
	pl.Params.StrikeMemory = a.StrikeMemory
	pl.Params.CountRefused = e.Abuse == policy.CountRefused && (pl.Params.CountRefused || !counted)
}

// NeedsLocal reports whether any failure mode is local.
func (ps *Plans) NeedsLocal() bool {
	for _, pl := range ps.byName {
		local := func(r Row) bool { return r.OnFailure == policy.Local }
		if pl.OnCost == policy.Local || pl.OnAbuse == policy.Local || slices.ContainsFunc(pl.Rows, local) {
			return true
		}
	}
	return false
}

// maxUnions bounds the plans of several endpoints, because clients choose which combinations occur.
const maxUnions = 256

// A union is several endpoints of one set of limits, by their names in the order of the policy.
type union struct {
	of    *Plans
	names string // with a NUL behind each
}

// PlanFor returns the plan for a request.
func (ps *Plans) PlanFor(r *Request) (*Plan, error) {
	pl, err := ps.named(r.Endpoint)
	if err != nil || len(r.OtherEndpoints) == 0 {
		return pl, err
	}
	plans := []*Plan{pl}
	for _, name := range r.OtherEndpoints {
		other, err := ps.named(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(plans, other) {
			plans = append(plans, other)
		}
	}
	slices.SortFunc(plans, func(a, b *Plan) int { return cmp.Compare(a.place, b.place) })
	endpoints, u := make([]*policy.Endpoint, len(plans)), union{of: ps}
	for i, one := range plans {
		endpoints[i] = one.endpoint
		u.names += one.endpoint.Name + "\x00"
	}
	if known, ok := ps.unions.Load(u); ok {
		return known.(*Plan), nil
	}
	pl = ps.compile(endpoints...)
	if len(pl.Rows) > maxRows {
		return nil, argumentError("OtherEndpoints", fmt.Sprintf("have at most %d limits together", maxRows), strconv.Itoa(len(pl.Rows)))
	}
	pl.Scope = u
	if ps.unionCount.Add(1) > maxUnions {
		ps.unions.Clear()
		ps.unionCount.Store(1)
	}
	ps.unions.Store(u, pl)
	return pl, nil
}

func (ps *Plans) named(endpoint string) (*Plan, error) {
	pl, ok := ps.byName[endpoint]
	if !ok {
		return nil, fmt.Errorf("decide %q: %w", endpoint, ErrEndpoint)
	}
	return pl, nil
}
