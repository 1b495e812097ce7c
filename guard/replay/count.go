package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// The most entries of a report's lists.
const (
	mostBad    = 10
	mostTop    = 50
	mostBlocks = 1000
)

// A meter identifies a limit, or a budget by its name.
type meter struct {
	endpoint, name string
	budget         bool
}

// A reporter counts decisions, in the order of the log.
type reporter struct {
	policy     *policy.Policy
	clients    *clients
	rep        Report
	limits     map[meter]*Limit
	endpoints  map[string]*EndpointCount
	reasons    map[guard.Reason]int64
	subjects   map[string]*SubjectCount
	buckets    buckets
	subsecond  bool
	unanswered bool
	options    bool
}

func newReporter(p *policy.Policy, w *clients) *reporter {
	r := &reporter{policy: p, clients: w, limits: map[meter]*Limit{}, endpoints: map[string]*EndpointCount{}, reasons: map[guard.Reason]int64{}, subjects: map[string]*SubjectCount{}}
	r.rep.Form, r.rep.LeftOut = 1, w.leftOut()
	left := func(name string) bool {
		return slices.ContainsFunc(r.rep.LeftOut, func(l LeftOut) bool { return l.Name == name })
	}
	add := func(l Limit) {
		if !left(l.Title()) {
			r.rep.Limits = append(r.rep.Limits, l)
		}
	}
	limits := func(endpoint string, limits []policy.Limit) {
		for i := range limits {
			l := &limits[i]
			add(Limit{
				Name: l.Name, Endpoint: endpoint, Kind: string(l.Kind), Limit: policy.Micros(l.Limit * 1_000_000).String(), Window: window(l.Every, l.Window).Seconds(),
				Global: l.By.Global(), Shadow: l.Shadow,
			})
		}
	}
	limits("", p.Limits)
	for i := range p.Endpoints {
		limits(p.Endpoints[i].Name, p.Endpoints[i].Limits)
		r.rep.Endpoints = append(r.rep.Endpoints, EndpointCount{Name: p.Endpoints[i].Name})
	}
	for _, b := range p.Budgets {
		add(Limit{Name: b.Name, Kind: "budget", Limit: strings.TrimSpace(b.Budget.String() + " " + b.Unit), Window: window(b.Every, b.Window).Seconds(), Global: b.By.Global()})
	}
	for i := range r.rep.Endpoints {
		r.endpoints[p.Endpoints[i].Name] = &r.rep.Endpoints[i]
	}
	for i := range r.rep.Limits {
		l := &r.rep.Limits[i]
		r.limits[meter{l.Endpoint, l.Name, l.Kind == "budget"}] = l
	}
	return r
}

// window returns a window, or the longest period of a limit or budget that has periods.
func window(every policy.Every, window time.Duration) time.Duration {
	const day = 24 * time.Hour
	switch every {
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
	return window
}

func (r *reporter) add(b *batch) {
	rep := &r.rep
	r.subsecond, r.unanswered, r.options = r.subsecond || b.subsecond, r.unanswered || b.unanswered, r.options || b.options
	rep.Lines += b.lines
	rep.Exempt += b.exempt
	rep.Unmatched += b.unmatched
	rep.Disordered += b.disordered
	rep.Limited += b.limited
	rep.Unreadable += int64(len(b.bad))
	if room := mostBad - len(rep.Bad); room > 0 {
		slices.SortFunc(b.bad, func(a, b Bad) int { return cmp.Compare(a.Number, b.Number) })
		rep.Bad = append(rep.Bad, b.bad[:min(room, len(b.bad))]...)
	}
	for i := range b.jobs {
		r.job(&b.jobs[i])
	}
}

func (r *reporter) job(jb *job) {
	rep, d, at := &r.rep, jb.decision, jb.at.UTC()
	if rep.Requests == 0 {
		rep.First = at
	}
	rep.Last = at
	rep.Requests++
	t := r.subjects[d.Subject]
	if t == nil {
		t = &SubjectCount{Subject: d.Subject}
		r.subjects[d.Subject] = t
	}
	t.Requests++
	e := r.endpoints[jb.request.Endpoint]
	e.Requests++
	r.buckets.add(jb.at.UnixMicro(), d.Allowed)
	r.refusals(d, true)
	if d.Allowed {
		e.Allowed++
		rep.Allowed++
		if d.Duplicate {
			rep.Duplicates++
		}
		return
	}
	r.refusals(d, false)
	e.Refused++
	rep.Refused++
	r.reasons[d.Reason]++
	if t.Refused == 0 {
		t.First = at
	}
	t.Refused++
	t.Last, t.Reason = at, d.Reason
	if d.Reason == guard.ReasonAttempts {
		rep.Blocks++
		if len(rep.BlockList) < mostBlocks {
			rep.BlockList = append(rep.BlockList, Block{Time: at, Subject: d.Refused, Endpoint: e.Name, Tier: d.Tier, Strikes: d.Strikes, Seconds: r.block(d).Seconds()})
		}
	}
}

// block returns how long a block lasts that a decision starts.
func (r *reporter) block(d *guard.Decision) time.Duration {
	i := slices.IndexFunc(r.policy.Blocks, func(b policy.Block) bool { return b.Name == d.Block })
	b := &r.policy.Blocks[i]
	if steps := b.Escalation; len(steps) > 0 {
		return steps[min(d.Strikes, len(steps))-1]
	}
	return b.Tiers[d.Tier-1].Block
}

// refusals counts the limits and budgets that refuse a request, or the shadow limits that would.
func (r *reporter) refusals(d *guard.Decision, shadow bool) {
	var refusing []*Limit
	for i := range d.Limits {
		if l := &d.Limits[i]; !l.Allowed && l.Shadow == shadow {
			refusing = append(refusing, r.limits[meter{l.Endpoint, l.Name, false}])
		}
	}
	for i := range d.Budgets {
		if b := &d.Budgets[i]; !b.Allowed && !shadow {
			refusing = append(refusing, r.limits[meter{"", b.Name, true}])
		}
	}
	for _, l := range refusing {
		if l == nil {
			continue
		}
		l.Refused++
		if len(refusing) == 1 {
			l.Alone++
		}
	}
}

// report completes and returns the report.
func (r *reporter) report() (*Report, error) {
	rep := &r.rep
	if rep.Lines == 0 {
		return nil, ErrEmpty
	}
	if rep.Unreadable == rep.Lines {
		return nil, &UnreadableError{Lines: rep.Lines, Bad: rep.Bad}
	}
	for reason, n := range r.reasons {
		rep.Reasons = append(rep.Reasons, ReasonCount{reason, n})
	}
	slices.SortFunc(rep.Reasons, func(a, b ReasonCount) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(a.Reason, b.Reason))
	})
	rep.Subjects = int64(len(r.subjects))
	for _, t := range r.subjects {
		if t.Refused > 0 {
			rep.Top = append(rep.Top, *t)
		}
	}
	slices.SortFunc(rep.Top, func(a, b SubjectCount) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(a.Subject, b.Subject))
	})
	rep.Hit = int64(len(rep.Top))
	rep.Top = slices.Clip(rep.Top[:min(mostTop, len(rep.Top))])
	rep.Bucket, rep.Buckets = r.buckets.list()
	r.notes()
	return rep, nil
}

// notes adds the notes on what the numbers do not show.
func (r *reporter) notes() {
	p, rep := r.policy, &r.rep
	note := func(format string, args ...any) { rep.Notes = append(rep.Notes, fmt.Sprintf(format, args...)) }
	challenges, charged, short := false, false, false
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		challenges = challenges || e.Challenge != nil
		charged = charged || e.Cost != nil && slices.ContainsFunc(p.Budgets, func(b policy.Budget) bool { return r.clients.tells(b.By) })
	}
	for i := range rep.Limits {
		short = short || rep.Limits[i].Window < 10
	}
	for _, l := range rep.LeftOut {
		note("Left out: %s (by %s): %s.", l.Name, strings.Join(l.By, " and "), l.Why)
	}
	if challenges {
		note("Challenges are left out: a log does not show which requests carry one.")
	}
	if charged {
		note("Budgets are charged the endpoint's estimate: a log does not show the cost of a request.")
	}
	if short && !r.subsecond {
		note("The log's times are whole seconds: limits with short windows see all requests of a second at once, and refuse more than they would.")
	}
	unknown := p.Plans != nil && !r.clients.tells(policy.By{p.Plans.By})
	if unknown {
		note("The log does not tell which clients have a plan: all are decided by the limits of those without one.")
	}
	unanswered := r.unanswered && counting(p)
	if unanswered {
		note("Some lines have no status: limits that count only some responses count them.")
	}
	if r.options {
		note("Lines with OPTIONS are decided: a log does not show which are preflights, which the policy exempts.")
	}
	if rep.Disordered > 0 {
		note("%s.", counted(rep.Disordered, "line is out of order, and decided at the time of a later one before it", "lines are out of order, and decided at the time of a later one before them"))
	}
	rep.Complete = len(rep.LeftOut) == 0 && !challenges && !charged && !unknown && !unanswered && !r.options && rep.Unreadable == 0
}

// counting reports whether a limit counts only some responses.
func counting(p *policy.Policy) bool {
	some := func(limits []policy.Limit) bool {
		return slices.ContainsFunc(limits, func(l policy.Limit) bool { return l.Count != nil })
	}
	return some(p.Limits) || slices.ContainsFunc(p.Endpoints, func(e policy.Endpoint) bool { return some(e.Limits) })
}

// buckets counts requests over time, in at most maxBuckets parts of equal width.
type buckets struct {
	width int // index in widths
	parts []Bucket
	first int64 // Unix second in which the first part starts
}

const mostBuckets = 120

// widths are the widths in seconds, each a multiple of the previous one.
var widths = []int64{1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10800, 21600, 43200, 86400, 7 * 86400, 28 * 86400, 364 * 86400}

// add counts a request. Times must not decrease.
func (b *buckets) add(micros int64, allowed bool) {
	second := micros / 1_000_000
	if len(b.parts) == 0 {
		b.first = second
	}
	for b.index(second) >= mostBuckets && b.width < len(widths)-1 {
		b.widen()
	}
	n := b.index(second)
	for len(b.parts) <= n {
		b.parts = append(b.parts, Bucket{})
	}
	if allowed {
		b.parts[n].Allowed++
	} else {
		b.parts[n].Refused++
	}
}

func (b *buckets) index(second int64) int { return int((second - b.first) / widths[b.width]) }

// widen merges the parts into parts of the next width, which start at its multiples.
func (b *buckets) widen() {
	old, first := widths[b.width], b.first
	b.width++
	b.first -= b.first % widths[b.width]
	var parts []Bucket
	for i, part := range b.parts {
		n := b.index(first + int64(i)*old)
		for len(parts) <= n {
			parts = append(parts, Bucket{})
		}
		parts[n].Allowed += part.Allowed
		parts[n].Refused += part.Refused
	}
	b.parts = parts
}

// list returns the seconds of a part, and the parts with their start times.
func (b *buckets) list() (float64, []Bucket) {
	for i := range b.parts {
		b.parts[i].Start = time.Unix(b.first+int64(i)*widths[b.width], 0).UTC()
	}
	return float64(widths[b.width]), b.parts
}
