package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Plans are a policy, ready for requests: by endpoint.
type Plans struct {
	Policy   *policy.Policy
	Settling []cost.SettleLimits // the budgets that a settlement by name is held to: those of no plan are larger

	client    whose
	byName    map[string]*Plan
	unions    sync.Map // of the plans of several endpoints, by their names
	united    atomic.Int64
	overrides *atomic.Pointer[Overrides] // that hold now; those of tiers are the same
	tiers     map[string]func() *Plans   // of the policy's plans by name, each compiled for its first request
}

// A Plan is what is asked about a request for one endpoint. Of its rows a call has those whose identities the request has.
type Plan struct {
	Rows      []Row
	Params    guard.AdmitParams // the constant part of a call
	Estimate  fcall.Micros
	Dedup     time.Duration // how long a receipt is known; 0 where there are none
	Attempts  bool          // a request is an attempt
	Counting  bool          // some limit counts some responses only
	Unbounded bool          // a request that nothing counts passes

	OnCost, OnAbuse, OnChallenge policy.OnFailure

	endpoint  *policy.Endpoint
	repeats   *int64 // of a receipt, that pass
	account   *whose // of the budgets; nil where a request charges none
	attempts  *whose // nil where a request is no attempt
	challenge *whose // nil where none is looked at
	budgets   []Budget
	share     float64 // of the budgets, where they are decided here

	packs packs
}

// A Row is a limit of the policy.
type Row struct {
	Limit     guard.Limit
	Name      string // in the policy
	Endpoint  string // whose limit it is; "" for the policy's own
	Kind      policy.Kind
	OnFailure policy.OnFailure
	Count     *policy.Responses // that it counts; nil for all

	whose whose
	share float64
}

// A Budget is one of the policy's.
type Budget struct {
	Name   string
	Budget fcall.Micros
	Window time.Duration
}

// Compile makes the plans of a policy that was checked and completed.
func Compile(p *policy.Policy) *Plans {
	ps := compileTier(p)
	ps.overrides = new(atomic.Pointer[Overrides])
	ps.Override(p.Overrides)
	if p.Plans == nil {
		return ps
	}
	ps.tiers = make(map[string]func() *Plans, len(p.Plans.Named))
	for name, differs := range p.Plans.Named {
		if p.Cost != nil {
			for i, b := range p.Cost.Budgets {
				ps.Settling[i].Budget = max(ps.Settling[i].Budget, fcall.Micros(differs.Budgets[b.Name]))
			}
		}
		ps.tiers[name] = sync.OnceValue(func() *Plans {
			tier := compileTier(p.ForPlan(name))
			tier.overrides = ps.overrides
			return tier
		})
	}
	return ps
}

// For returns what requests with these subjects are held to: by the limits of the policy's plan that one of them names, or by these.
func (ps *Plans) For(subjects []string) *Plans {
	if name := ps.Policy.Plan(subjects); name != "" {
		return ps.tiers[name]()
	}
	return ps
}

// compileTier makes the plans of one set of limits.
func compileTier(p *policy.Policy) *Plans {
	ps := &Plans{Policy: p, client: whoseOf(p, policy.By{policy.ByClient}, ""), byName: make(map[string]*Plan, len(p.Endpoints))}
	if p.Cost != nil {
		for _, b := range p.Cost.Budgets {
			ps.Settling = append(ps.Settling, cost.SettleLimits{Budget: fcall.Micros(b.Budget), Window: b.Window})
		}
	}
	for i := range p.Endpoints {
		ps.byName[p.Endpoints[i].Name] = compile(p, &p.Endpoints[i])
	}
	return ps
}

// compile makes the plan of an endpoint, or of several that a request is held to together.
func compile(p *policy.Policy, endpoints ...*policy.Endpoint) *Plan {
	pl := &Plan{endpoint: endpoints[0], Unbounded: true}
	// Limits of one subject stand together, and global ones last: a refusal of the client's own names the reason.
	for _, global := range []bool{false, true} {
		for i := range p.Limits {
			pl.add(p, "", &p.Limits[i], global)
		}
		for _, e := range endpoints {
			for i := range e.Limits {
				pl.add(p, e.Name, &e.Limits[i], global)
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
			pl.challenge = new(whoseOf(p, c.By, ""))
			pl.Params.ChallengeRequired = pl.Params.ChallengeRequired || c.Required
			pl.OnChallenge = c.OnFailure
		}
	}
	pl.Attempts = pl.attempts != nil
	return pl
}

// add adds a limit, if it is global as wanted.
func (pl *Plan) add(p *policy.Policy, endpoint string, l *policy.Limit, global bool) {
	if l.By.Global() != global {
		return
	}
	wire := policy.WireName(endpoint, l.Name)
	r := Row{
		Limit: guard.Limit{
			Name: wire, Kind: guard.LimitKind(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst,
			Cost: new(l.Cost), Shadow: l.Shadow, Global: global,
		},
		Name: l.Name, Endpoint: endpoint, Kind: l.Kind, OnFailure: l.OnFailure, Count: l.Count,
		whose: whoseOf(p, l.By, wire), share: l.Share,
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
	pl.account, pl.OnCost, pl.share = new(whoseOf(p, c.By, "")), c.OnFailure, p.Share
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
	pl.OnAbuse = a.OnFailure // of blocks, too
	if e.Abuse == "" {
		return
	}
	counted := pl.attempts != nil
	pl.attempts = new(whoseOf(p, a.By, ""))
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

// NeedsLocal reports whether something is decided in this process while Redis does not answer.
func (ps *Plans) NeedsLocal() bool {
	for _, pl := range ps.byName {
		local := func(r Row) bool { return r.OnFailure == policy.Local }
		if pl.OnCost == policy.Local || pl.OnAbuse == policy.Local || slices.ContainsFunc(pl.Rows, local) {
			return true
		}
	}
	return false
}

// mostUnions is how many plans of several endpoints are kept. A client chooses which occur.
const mostUnions = 256

// Of returns what is asked about a request.
func (ps *Plans) Of(r *Request) (*Plan, error) {
	pl, err := ps.named(r.Endpoint)
	if err != nil || len(r.OtherEndpoints) == 0 {
		return pl, err
	}
	key := r.Endpoint + "\n" + strings.Join(r.OtherEndpoints, "\n")
	if u, ok := ps.unions.Load(key); ok {
		return u.(*Plan), nil
	}
	endpoints := []*policy.Endpoint{pl.endpoint}
	for _, name := range r.OtherEndpoints {
		other, err := ps.named(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(endpoints, other.endpoint) {
			endpoints = append(endpoints, other.endpoint)
		}
	}
	pl = compile(ps.Policy, endpoints...)
	if len(pl.Rows) > mostRows {
		return nil, wrong("OtherEndpoints", fmt.Sprintf("have at most %d limits together", mostRows), strconv.Itoa(len(pl.Rows)))
	}
	if ps.united.Add(1) <= mostUnions {
		ps.unions.Store(key, pl)
	}
	return pl, nil
}

func (ps *Plans) named(endpoint string) (*Plan, error) {
	pl, ok := ps.byName[endpoint]
	if !ok {
		return nil, fmt.Errorf("decide %q: %w", endpoint, ErrEndpoint)
	}
	return pl, nil
}
