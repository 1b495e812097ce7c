package replay

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

// The most entries of a report's lists.
const (
	mostBad    = 10
	mostTop    = 50
	mostBlocks = 1000
)

// A tally holds the counts of a subject.
type tally struct {
	requests, refused int64
	first, last       int64
	reason            Reason
}

// A reporter counts decisions, in the order of the log.
type reporter struct {
	plans     *plans
	rep       Report
	bytes     int64
	reasons   map[Reason]int64
	buckets   buckets
	subsecond bool

	concurrent, counting []LeftOut // limits that a log does not tell enough about
}

func newReporter(ps *plans, format string) *reporter {
	r := &reporter{plans: ps, reasons: map[Reason]int64{}}
	r.rep.Form, r.rep.Format = 1, format
	r.rep.Limits = slices.Clone(ps.meters)
	for i := range ps.policy.Endpoints {
		r.rep.Endpoints = append(r.rep.Endpoints, EndpointCount{Name: ps.policy.Endpoints[i].Name})
	}
	return r
}

func (r *reporter) add(b *batch) {
	t, rep := &b.stats, &r.rep
	r.bytes += t.bytes
	r.subsecond = r.subsecond || t.subsecond
	rep.Lines += t.lines
	rep.Unmatched += t.unmatched
	rep.Disordered += t.disordered
	rep.Limited += t.limited
	rep.Several += t.several
	rep.Planned += t.planned
	rep.Unreadable += int64(len(t.bad))
	if room := mostBad - len(rep.Bad); room > 0 {
		slices.SortFunc(t.bad, func(a, b accesslog.Bad) int { return cmp.Compare(a.Number, b.Number) })
		rep.Bad = append(rep.Bad, t.bad[:min(room, len(t.bad))]...)
	}
	for i := range b.jobs {
		r.job(&b.jobs[i])
	}
}

func (r *reporter) job(jb *job) {
	rep, a, t := &r.rep, &jb.answer, &jb.subject.tally
	if rep.Requests == 0 {
		rep.First = time.UnixMicro(jb.at).UTC()
	}
	rep.Last = time.UnixMicro(jb.at).UTC()
	rep.Requests++
	t.requests++
	e := &rep.Endpoints[jb.endpoint]
	e.Requests++
	r.buckets.add(jb.at, a.allowed)
	for _, m := range a.shadows {
		rep.Limits[m].Refused++
		if len(a.shadows) == 1 {
			rep.Limits[m].Alone++
		}
	}
	if a.allowed {
		e.Allowed++
		rep.Allowed++
		if a.duplicate {
			rep.Duplicates++
		}
		return
	}
	e.Refused++
	rep.Refused++
	r.reasons[a.reason]++
	if t.refused == 0 {
		t.first = jb.at
	}
	t.refused++
	t.last, t.reason = jb.at, a.reason
	for _, m := range a.meters {
		rep.Limits[m].Refused++
		if len(a.meters) == 1 {
			rep.Limits[m].Alone++
		}
	}
	if a.block != nil {
		a.block.Subject, a.block.Endpoint = jb.subject.name, e.Name
		rep.Blocks++
		if len(rep.BlockList) < mostBlocks {
			rep.BlockList = append(rep.BlockList, *a.block)
		}
	}
}

// report completes and returns the report.
func (r *reporter) report(w *clients) (*Report, error) {
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
	r.subjects(w)
	rep.Bucket, rep.Buckets = r.buckets.list()
	r.notes()
	return rep, nil
}

func (r *reporter) subjects(w *clients) {
	rep := &r.rep
	var hit []*tracked
	for _, t := range w.all {
		if t.tally.requests > 0 {
			rep.Subjects++
		}
		if t.tally.refused > 0 {
			hit = append(hit, t)
		}
	}
	rep.Hit = int64(len(hit))
	slices.SortFunc(hit, func(a, b *tracked) int {
		return cmp.Or(cmp.Compare(b.tally.refused, a.tally.refused), cmp.Compare(a.name, b.name))
	})
	for _, t := range hit[:min(mostTop, len(hit))] {
		rep.Top = append(rep.Top, SubjectCount{
			Subject: t.name, Requests: t.tally.requests, Refused: t.tally.refused, Reason: t.tally.reason,
			First: time.UnixMicro(t.tally.first).UTC(), Last: time.UnixMicro(t.tally.last).UTC(),
		})
	}
}

// notes adds the notes on what the numbers do not show.
func (r *reporter) notes() {
	p, rep := r.plans.policy, &r.rep
	note := func(format string, args ...any) { rep.Notes = append(rep.Notes, fmt.Sprintf(format, args...)) }
	challenges, charged, short := false, false, false
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		challenges = challenges || e.Challenge != nil
		charged = charged || e.Cost != nil && p.Cost != nil && r.plans.coverage.covers(p.Cost.By)
	}
	for i := range r.plans.meters {
		short = short || r.plans.meters[i].Window < 10
	}
	if rep.LeftOut = r.plans.coverage.leftOut(); len(rep.LeftOut) > 0 {
		rep.Notes = append(rep.Notes, r.plans.coverage.note(rep.LeftOut))
	}
	if challenges {
		note("Challenges are left out: a log does not show which requests carry one.")
	}
	if charged {
		note("Budgets are charged the endpoint's estimate for the whole window: a log does not show the cost of a request.")
	}
	if short && !r.subsecond {
		note("The log's times are whole seconds: limits with short windows see all requests of a second at once, and refuse more than they would.")
	}
	unknown := p.Plans != nil && p.Plans.By != r.plans.coverage.user
	if unknown {
		note("The log does not tell which clients have a plan: all are decided by the limits of those without one.")
	}
	if rep.Disordered > 0 {
		note("%s.", counted(rep.Disordered, "line is out of order, and decided at the time of a later one before it", "lines are out of order, and decided at the time of a later one before them"))
	}
	rep.leaveOut(r.concurrent, "of kind concurrency. A log does not say which requests ran at the same time.")
	rep.leaveOut(r.counting, "which count only some responses: replay decides before the response.")
	rep.Complete = len(rep.LeftOut) == 0 && !challenges && !charged && !unknown && rep.Several+rep.Planned+rep.Unreadable == 0
}
