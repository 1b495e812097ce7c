package replay

import (
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A plan is the one call that is made about a request for an endpoint: of its subject, or of a global limit.
type plan struct {
	params guard.AdmitParams // without bucket, receipt and reservation
	rules  []rule            // what may refuse it; the limits first, then budgets, then tiers
	// limits, budgets, tiers and escalation are the rows that params has packed.
	limits     []guard.Limit
	budgets    []guard.AdmitBudgets
	tiers      []guard.AdmitTiers
	escalation []guard.AdmitEscalation
	// recorded says that the call is an attempt also when it is allowed, refusals that it is one when it is refused.
	recorded, refusals bool
	dedup              time.Duration
	repeats            *int64  // of an ID, that pass without being counted
	costs              []int64 // by track, of a call that is admitted
	attempt            []int64 // by track, of a call that is only recorded
}

// A rule is one limit, budget or tier as a call meets it.
type rule struct {
	meter int   // where the report counts it, of a limit and a budget
	track int   // where a subject keeps what it took
	most  int64 // that can be taken in a span
	cost  int64 // of one call; 0 where the call takes nothing of it
	span  int64 // microseconds after which what was taken counts no more; of a gcra nothing
	// forgets says that what was taken longer than span ago has no effect whatever on what comes, not even on where a window begins.
	forgets bool
	log     bool    // a sliding log, which a call adds its time to
	level   float64 // of a gcra, tokens that come back in a microsecond; else 0
}

// plans are a policy's calls.
type plans struct {
	policy   *policy.Policy
	whom     whom
	tracks   map[string]int      // by the limit's key
	byTrack  []rule              // as one that has each limit once meets it
	meters   []Limit             // what the report tells about each limit and budget
	subjects []map[planKey]*plan // by endpoint
	globals  [][]*tracked        // by endpoint
	everyone []*tracked          // each of them once
}

// A planKey is what the calls of subjects for an endpoint differ by.
type planKey struct {
	user  bool  // it is a user, not an address
	times int64 // how many times each limit it has
}

// compile makes the calls of a policy that is complete. What a log cannot tell is left out: challenges, holds, penalties, and limits by
// identities that are not in it.
func compile(p *policy.Policy, w whom) *plans {
	ps := &plans{policy: p, whom: w, tracks: map[string]int{}}
	var shared []*tracked
	for i := range p.Limits {
		if l := &p.Limits[i]; l.By.Global() {
			shared = append(shared, ps.global("", l))
		} else if w.sees(l.By) {
			ps.meter("", l, false)
		}
	}
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		globals := shared[:len(shared):len(shared)]
		for j := range e.Limits {
			if l := &e.Limits[j]; l.By.Global() {
				globals = append(globals, ps.global(e.Name, l))
			} else if w.sees(l.By) {
				ps.meter(e.Name, l, false)
			}
		}
		ps.globals = append(ps.globals, globals)
		ps.subjects = append(ps.subjects, map[planKey]*plan{})
	}
	if p.Cost != nil && w.sees(p.Cost.By) {
		for _, b := range p.Cost.Budgets {
			ps.meters = append(ps.meters, Limit{Name: b.Name, Kind: "budget", Limit: b.Budget.String(), Window: seconds(b.Window)})
		}
	}
	for i := range p.Endpoints {
		ps.subject(i, planKey{times: 1}) // so that every track is known before the first line
		if w.user != "" {
			ps.subject(i, planKey{user: true, times: 1})
		}
	}
	return ps
}

// global makes the bucket of a global limit, with its one call.
func (ps *plans) global(endpoint string, l *policy.Limit) *tracked {
	pl := new(plan)
	row, r := limitRow(endpoint, l, 1)
	r.meter, r.track = ps.meter(endpoint, l, true), ps.track("global:"+row.Name)
	pl.limits = append(pl.limits, row)
	pl.add(ps, r)
	pl.pack()
	t := &tracked{name: policy.GlobalPrefix + row.Name, factor: 1, plan: pl}
	ps.everyone = append(ps.everyone, t)
	return t
}

func (ps *plans) meter(endpoint string, l *policy.Limit, global bool) int {
	ps.meters = append(ps.meters, Limit{
		Name: l.Name, Endpoint: endpoint, Kind: string(l.Kind), Limit: policy.Micros(l.Limit * 1_000_000).String(), Window: seconds(l.Window),
		Global: global, Shadow: l.Shadow,
	})
	return len(ps.meters) - 1
}

// subject returns the call of an endpoint for subjects alike.
func (ps *plans) subject(endpoint int, key planKey) *plan {
	if pl := ps.subjects[endpoint][key]; pl != nil {
		return pl
	}
	e := &ps.policy.Endpoints[endpoint]
	pl := new(plan)
	if e.Idempotency != nil {
		pl.dedup, pl.repeats = e.Idempotency.For, e.Idempotency.Repeats
	}
	for i := range ps.policy.Limits {
		pl.limit(ps, "", &ps.policy.Limits[i], key)
	}
	for i := range e.Limits {
		pl.limit(ps, e.Name, &e.Limits[i], key)
	}
	if c := ps.policy.Cost; c != nil && e.Cost != nil && ps.counts(c.By, key) {
		pl.params.Estimate = fcall.Micros(e.Cost.Estimate)
		for i, b := range c.Budgets {
			most := int64(b.Budget) * key.times
			pl.budgets = append(pl.budgets, guard.AdmitBudgets{Budget: fcall.Micros(most), Window: b.Window})
			pl.add(ps, rule{
				meter: len(ps.meters) - len(c.Budgets) + i, track: ps.track("budget:" + b.Name), most: most, cost: int64(e.Cost.Estimate), span: span(b.Window), forgets: true,
			})
		}
	}
	pl.abuse(ps, e, key)
	pl.pack()
	ps.subjects[endpoint][key] = pl
	return pl
}

// counts reports whether identities count the subjects of a plan.
func (ps *plans) counts(by policy.By, key planKey) bool {
	return ps.whom.sees(by) && ps.whom.counts(by, key.user)
}

func (pl *plan) limit(ps *plans, endpoint string, l *policy.Limit, key planKey) {
	if !ps.counts(l.By, key) {
		return
	}
	row, r := limitRow(endpoint, l, key.times)
	r.meter, r.track = ps.find(endpoint, l.Name), ps.track(string(l.Kind)+":"+row.Name)
	pl.limits = append(pl.limits, row)
	pl.add(ps, r)
}

func limitRow(endpoint string, l *policy.Limit, times int64) (guard.Limit, rule) {
	row := guard.Limit{
		Name: policy.WireName(endpoint, l.Name), Kind: guard.LimitKind(l.Kind), Limit: l.Limit * times, Window: l.Window,
		Burst: l.Burst * times, Cost: new(l.Cost), Shadow: l.Shadow,
	}
	r := rule{most: row.Limit, cost: l.Cost, span: span(l.Window)}
	switch l.Kind {
	case policy.SlidingLog:
		r.log, r.forgets = true, true
	case policy.SlidingCounter:
		r.span *= 2
	case policy.GCRA:
		r.most = row.Burst
		r.level = float64(row.Limit) / float64(l.Window.Microseconds()+1)
	}
	return row, r
}

func (pl *plan) add(ps *plans, r rule) {
	pl.rules = append(pl.rules, r)
	for len(pl.costs) <= r.track {
		pl.costs, pl.attempt = append(pl.costs, 0), append(pl.attempt, 0)
	}
	pl.costs[r.track] = r.cost
	if r.track == len(ps.byTrack) {
		ps.byTrack = append(ps.byTrack, r)
	}
}

func (pl *plan) abuse(ps *plans, e *policy.Endpoint, key planKey) {
	a := ps.policy.Abuse
	if a == nil || e.Abuse == "" || !ps.counts(a.By, key) {
		return
	}
	pl.refusals, pl.recorded = true, e.Abuse == policy.CountAll
	pl.params.CountRefused = e.Abuse == policy.CountRefused
	pl.params.StrikeMemory = a.StrikeMemory
	for _, d := range a.Escalation {
		pl.escalation = append(pl.escalation, guard.AdmitEscalation{Block: d})
	}
	for i, t := range a.Tiers {
		pl.tiers = append(pl.tiers, guard.AdmitTiers{Threshold: t.Threshold, Window: t.Window, Block: t.Block})
		r := rule{track: ps.track("tier:" + string(rune('1'+i))), most: t.Threshold - 1, span: span(t.Window), forgets: true}
		if pl.recorded {
			r.cost = 1
		}
		pl.add(ps, r)
		pl.attempt[r.track] = 1
	}
}

// pack encodes the rows once for every call. The policy has been checked: each row is within bounds.
func (pl *plan) pack() {
	pl.params.Limits = guard.MustPackLimit(pl.limits...)
	pl.params.Budgets = guard.MustPackAdmitBudgets(pl.budgets...)
	pl.params.Tiers = guard.MustPackAdmitTiers(pl.tiers...)
	pl.params.Escalation = guard.MustPackAdmitEscalation(pl.escalation...)
}

func (ps *plans) find(endpoint, name string) int {
	for i := range ps.meters {
		if m := &ps.meters[i]; !m.Global && m.Endpoint == endpoint && m.Name == name && m.Kind != "budget" {
			return i
		}
	}
	panic("replay: a limit without a meter")
}

func (ps *plans) track(key string) int {
	n, ok := ps.tracks[key]
	if !ok {
		n = len(ps.tracks)
		ps.tracks[key] = n
	}
	return n
}

// span is a window with room for whatever is rounded to milliseconds within it.
func span(window time.Duration) int64 { return window.Microseconds() + 1 + 2*tick }

// tick is the coarsest unit that the engine measures an expiry in.
const tick = 1000
