package guard

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// plans are a policy, ready for requests: by endpoint.
type plans struct {
	policy    *policy.Policy
	client    whose
	byName    map[string]*plan
	unions    sync.Map // of the plans of several endpoints, by their names
	united    atomic.Int64
	settling  []budgetRow
	overrides *policy.Lookup // nil when there are none
	multiply  bool           // some subject has more than once
	local     backend        // nil when nothing is decided here
}

// A plan is what is asked about a request for one endpoint. Of its rows a call has those whose identities the request has.
type plan struct {
	endpoint  *policy.Endpoint
	unbounded bool // a request that nothing counts passes
	counting  bool // some limit counts some responses only
	dedup     time.Duration
	repeats   *int64 // of a receipt, that pass
	rows      []row
	account   *whose // of the budgets; nil where a request charges none
	attempts  *whose // nil where a request is no attempt
	challenge *whose // nil where none is looked at
	params    guard.AdmitParams
	budgets   []BudgetState
	estimate  fcall.Micros
	share     float64 // of the budgets, where they are decided here

	onCost, onAbuse, onChallenge policy.OnFailure

	packs packs
}

// A row is a limit of the policy.
type row struct {
	limit     guard.Limit
	state     LimitState
	whose     whose
	onFailure policy.OnFailure
	share     float64
	count     *policy.Responses // that it counts; nil for all
}

// A budgetRow is a budget that a settlement is held to.
type budgetRow struct {
	budget fcall.Micros
	window time.Duration
}

// compile makes the plans of a policy that was checked and completed.
func compile(p *policy.Policy) *plans {
	ps := &plans{policy: p, client: whoseOf(p, policy.By{policy.ByClient}, ""), byName: make(map[string]*plan, len(p.Endpoints))}
	if o := &p.Overrides; len(o.Allow)+len(o.Deny)+len(o.Multiply) > 0 {
		ps.overrides, ps.multiply = o.Lookup(), len(o.Multiply) > 0
	}
	if p.Cost != nil {
		for _, b := range p.Cost.Budgets {
			ps.settling = append(ps.settling, budgetRow{fcall.Micros(b.Budget), b.Window})
		}
	}
	for i := range p.Endpoints {
		ps.byName[p.Endpoints[i].Name] = compileEndpoints(p, &p.Endpoints[i])
	}
	return ps
}

// compileEndpoints makes the plan of an endpoint, or of several that a request is held to together.
func compileEndpoints(p *policy.Policy, endpoints ...*policy.Endpoint) *plan {
	pl := &plan{endpoint: endpoints[0], unbounded: true}
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
		pl.unbounded = pl.unbounded && e.Unbounded
		if e.Idempotency != nil && len(endpoints) == 1 {
			pl.dedup, pl.repeats = e.Idempotency.For, e.Idempotency.Repeats
		}
		pl.addCost(p, e)
		pl.addAbuse(p, e)
		if c := e.Challenge; c != nil {
			pl.challenge = new(whoseOf(p, c.By, ""))
			pl.params.ChallengeRequired = pl.params.ChallengeRequired || c.Required
			pl.onChallenge = c.OnFailure
		}
	}
	return pl
}

// mostUnions is how many plans of several endpoints are kept. A client chooses which occur.
const mostUnions = 256

// plan returns what is asked about a request.
func (ps *plans) plan(r *Request) (*plan, error) {
	pl, ok := ps.byName[r.Endpoint]
	if !ok {
		return nil, fmt.Errorf("decide %q: %w", r.Endpoint, ErrEndpoint)
	}
	if len(r.OtherEndpoints) == 0 {
		return pl, nil
	}
	key := r.Endpoint + "\n" + strings.Join(r.OtherEndpoints, "\n")
	if u, ok := ps.unions.Load(key); ok {
		return u.(*plan), nil
	}
	endpoints := []*policy.Endpoint{pl.endpoint}
	for _, name := range r.OtherEndpoints {
		other, ok := ps.byName[name]
		if !ok {
			return nil, fmt.Errorf("decide %q: %w", name, ErrEndpoint)
		}
		if !slices.Contains(endpoints, other.endpoint) {
			endpoints = append(endpoints, other.endpoint)
		}
	}
	pl = compileEndpoints(ps.policy, endpoints...)
	if len(pl.rows) > mostRows {
		return nil, &fcall.ArgumentError{
			Function: "guard.decide", Name: "OtherEndpoints", Must: fmt.Sprintf("have at most %d limits together", mostRows), Got: strconv.Itoa(len(pl.rows)),
		}
	}
	if ps.united.Add(1) <= mostUnions {
		ps.unions.Store(key, pl)
	}
	return pl, nil
}

// add adds a limit, if it is global as wanted.
func (pl *plan) add(p *policy.Policy, endpoint string, l *policy.Limit, global bool) {
	if l.By.Global() != global {
		return
	}
	wire := policy.WireName(endpoint, l.Name)
	r := row{
		limit: guard.Limit{
			Name: wire, Kind: guard.LimitKind(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst,
			Cost: new(l.Cost), Shadow: l.Shadow, Global: global,
		},
		state: LimitState{Name: l.Name, Kind: l.Kind, Limit: l.Limit, Window: l.Window, Burst: l.Burst, Global: global, Shadow: l.Shadow},
		whose: whoseOf(p, l.By, wire), onFailure: l.OnFailure, share: l.Share, count: l.Count,
	}
	pl.counting = pl.counting || l.Count != nil
	if l.Shadow {
		r.onFailure = policy.Open
	}
	pl.rows = append(pl.rows, r)
}

func (pl *plan) addCost(p *policy.Policy, e *policy.Endpoint) {
	c := p.Cost
	if c == nil || e.Cost == nil {
		return
	}
	pl.account, pl.onCost, pl.share = new(whoseOf(p, c.By, "")), c.OnFailure, p.Share
	pl.params.Hold, pl.params.Penalty = c.Hold, c.Penalty
	pl.estimate = max(pl.estimate, fcall.Micros(e.Cost.Estimate))
	pl.budgets = nil
	for _, b := range c.Budgets {
		pl.budgets = append(pl.budgets, BudgetState{Name: b.Name, Budget: fcall.Micros(b.Budget), Window: b.Window})
	}
}

func (pl *plan) addAbuse(p *policy.Policy, e *policy.Endpoint) {
	a := p.Abuse
	if a == nil {
		return
	}
	pl.onAbuse = a.OnFailure // of blocks, too
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
	pl.params.Tiers, pl.params.Escalation = guard.MustPackAdmitTiers(tiers...), guard.MustPackAdmitEscalation(escalation...)
	pl.params.StrikeMemory = a.StrikeMemory
	pl.params.CountRefused = e.Abuse == policy.CountRefused && (pl.params.CountRefused || !counted)
}

func (ps *plans) needsLocal() bool {
	for _, pl := range ps.byName {
		if pl.onCost == policy.Local || pl.onAbuse == policy.Local {
			return true
		}
		for i := range pl.rows {
			if pl.rows[i].onFailure == policy.Local {
				return true
			}
		}
	}
	return false
}

// shareOf is what one process may take of a limit: rounded down, and at least 1.
func shareOf(limit int64, share float64) int64 {
	if limit == 0 {
		return 0
	}
	return max(1, int64(math.Floor(float64(limit)*share)))
}
