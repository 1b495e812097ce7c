package replay

import (
	"time"

	"github.com/rlfunc/rlfunc/calendar"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/decide"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/wire"
)

// A plan is the call for a request of an endpoint, by its subject or by a global limit. Engines share it and only read it.
type plan struct {
	params guard.AdmitParams // without bucket, receipt and reservation
	rules  []rule            // limits, then budgets, then tiers
	// limits, budgets, tiers and escalation are the unpacked rows of params.
	limits     []guard.Limit
	calendars  []*calendar.Calendar // of limits that are quotas
	hasQuota   bool
	budgets    []guard.AdmitBudgets
	tiers      []guard.AdmitTiers
	escalation []guard.AdmitEscalation
	// recorded means that an allowed call is an attempt, refusals that a refused call is.
	recorded, refusals bool
	dedup              time.Duration
	repeats            *int64  // number of free repeats of an ID
	costs              []int64 // by track, of an admitted call
	attempt            []int64 // by track, of a call that is only recorded
}

// A rule is one limit, budget or tier of a call.
type rule struct {
	meter int   // index in plans.meters, for a limit or budget
	track int   // index in tracked.marks
	most  int64 // capacity of a span
	cost  int64 // of one call, or 0
	span  int64 // microseconds after which a charge no longer counts; unused for a gcra
	// forgets means that charges older than span have no effect at all, not even on where a window begins.
	forgets bool
	log     bool    // sliding_log
	level   float64 // refill of a gcra, in tokens per microsecond; else 0
}

// plans holds the calls of a policy.
type plans struct {
	policy     *policy.Policy
	coverage   coverage
	tracks     map[string]int      // by the limit's key
	byTrack    []rule              // first rule of each track
	meters     []Limit             // the report's row of each limit and budget
	subjects   []map[planKey]*plan // by endpoint
	globals    [][]*tracked        // by endpoint
	allGlobals []*tracked          // all global limits
}

// A planKey selects the plan of a subject for an endpoint.
type planKey struct {
	user  bool  // the subject is a user, not an address
	times int64 // factor of its limits
}

// compile returns the calls of a complete policy. It skips challenges, holds, penalties, and limits by identities that the log does not
// have.
func compile(p *policy.Policy, w coverage) *plans {
	ps := &plans{policy: p, coverage: w, tracks: map[string]int{}}
	var shared []*tracked
	for i := range p.Limits {
		if l := &p.Limits[i]; l.By.Global() {
			shared = append(shared, ps.global("", l))
		} else if w.covers(l.By) {
			ps.meter("", l, false)
		}
	}
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		globals := shared[:len(shared):len(shared)]
		for j := range e.Limits {
			if l := &e.Limits[j]; l.By.Global() {
				globals = append(globals, ps.global(e.Name, l))
			} else if w.covers(l.By) {
				ps.meter(e.Name, l, false)
			}
		}
		ps.globals = append(ps.globals, globals)
		ps.subjects = append(ps.subjects, map[planKey]*plan{})
	}
	if p.Cost != nil && w.covers(p.Cost.By) {
		for _, b := range p.Cost.Budgets {
			ps.meters = append(ps.meters, Limit{Name: b.Name, Kind: "budget", Limit: b.Budget.String(), Window: seconds(b.Window)})
		}
	}
	for i := range p.Endpoints {
		ps.subject(i, planKey{times: 1}) // creates every track before the first line
		if w.user != "" {
			ps.subject(i, planKey{user: true, times: 1})
		}
	}
	return ps
}

// global returns the bucket of a global limit with its plan.
func (ps *plans) global(endpoint string, l *policy.Limit) *tracked {
	pl := new(plan)
	row, r := limitRow(endpoint, l, 1)
	r.meter, r.track = ps.meter(endpoint, l, true), ps.track("global:"+row.Name)
	pl.addLimit(row, l)
	pl.add(ps, r)
	pl.pack()
	t := &tracked{name: wire.GlobalPrefix + row.Name, factor: 1, plan: pl}
	ps.allGlobals = append(ps.allGlobals, t)
	return t
}

func (ps *plans) meter(endpoint string, l *policy.Limit, global bool) int {
	ps.meters = append(ps.meters, Limit{
		Name: l.Name, Endpoint: endpoint, Kind: string(l.Kind), Limit: policy.Micros(l.Limit * 1_000_000).String(), Window: seconds(window(l)),
		Global: global, Shadow: l.Shadow,
	})
	return len(ps.meters) - 1
}

// subject returns the plan of an endpoint for the subjects of a key.
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
	return ps.coverage.covers(by) && ps.coverage.counts(by, key.user)
}

func (pl *plan) limit(ps *plans, endpoint string, l *policy.Limit, key planKey) {
	if !ps.counts(l.By, key) {
		return
	}
	row, r := limitRow(endpoint, l, key.times)
	r.meter, r.track = ps.find(endpoint, l.Name), ps.track(string(l.Kind)+":"+row.Name)
	pl.addLimit(row, l)
	pl.add(ps, r)
}

func (pl *plan) addLimit(row guard.Limit, l *policy.Limit) {
	c, _ := l.Calendar() // the policy is valid
	if c != nil {
		pl.hasQuota = true
		decide.SetPeriod(&row, c.Around(time.Unix(1e9, 0))) // an engine sets that of a call
	}
	pl.limits, pl.calendars = append(pl.limits, row), append(pl.calendars, c)
}

func limitRow(endpoint string, l *policy.Limit, times int64) (guard.Limit, rule) {
	row := guard.Limit{
		Name: wire.LimitName(endpoint, l.Name), Kind: guard.LimitKind(l.Kind), Limit: l.Limit * times, Window: l.Window,
		Burst: l.Burst * times, Cost: new(l.Cost), Shadow: l.Shadow,
	}
	r := rule{most: row.Limit, cost: l.Cost, span: span(window(l))}
	switch l.Kind {
	case policy.SlidingLog:
		r.log, r.forgets = true, true
	case policy.SlidingCounter:
		r.span *= 2
	case policy.Quota:
		r.span += span(50 * time.Hour) // some periods are longer: a zone may skip a day
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

// pack encodes the rows once for all calls. They are within bounds, because the policy is valid.
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
	panic("replay: limit without a meter")
}

func (ps *plans) track(key string) int {
	n, ok := ps.tracks[key]
	if !ok {
		n = len(ps.tracks)
		ps.tracks[key] = n
	}
	return n
}

// window returns the window of a limit, for a quota that of most periods or more.
func window(l *policy.Limit) time.Duration {
	const day = 24 * time.Hour
	switch l.Every {
	case policy.Hour:
		return time.Hour
	case policy.Day:
		return day
	case policy.Week:
		return 7 * day
	case policy.Month:
		return 31 * day
	case policy.Year:
		return 366 * day
	}
	return l.Window
}

// span returns a window in microseconds, with room for rounding to milliseconds.
func span(window time.Duration) int64 { return window.Microseconds() + 1 + 2*tick }

// tick is the engine's unit of an expiry: 1 ms, in microseconds.
const tick = 1000
