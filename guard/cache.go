package guard

import (
	"context"
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/guard/internal/refusals"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// blockScope is the scope of cached blocks that hold for all endpoints. Those of the policy's blocks have the block's.
var blockScope = new(plan)

func ownKey(plan *plan, w *whom) refusals.Key {
	return refusals.Key{Scope: plan.scope, Subject: w.ownSubjects(plan), Variant: w.variant()}
}

func blockKey(subject string) refusals.Key { return refusals.Key{Scope: blockScope, Subject: subject} }

// namedKey is that of the block that an endpoint names; it must have one.
func namedKey(plan *plan, subject string) refusals.Key {
	return refusals.Key{Scope: plan.block, Subject: subject}
}

func globalKey(plan *plan, i int) refusals.Key { return refusals.Key{Scope: plan.rows[i].scope} }

func receiptKey(plan *plan, w *whom, r *Request) refusals.Key {
	return refusals.Key{Scope: plan.scope, Subject: w.client, Receipt: r.Receipt}
}

// A refusal is a decision that refuses, and what the request would have cost. It is not changed.
type refusal struct {
	decision *Decision
	cost     cost
}

// A cost is what a request costs: its weight in limits, and its estimates in budgets.
type cost struct {
	weight   int64
	estimate fcall.Micros
	units    []Amount // of the endpoint
}

func costOf(plan *plan, w *whom, r *Request) cost {
	c := cost{r.Weight, r.Estimate, w.units}
	if c.estimate == 0 {
		c.estimate = plan.estimate
	}
	return c
}

// atLeast reports whether a request that costs c is refused as long as one that costs other.
func (c cost) atLeast(other cost) bool {
	for i := range min(len(c.units), len(other.units)) {
		if c.units[i].N < other.units[i].N {
			return false
		}
	}
	return c.weight >= other.weight && c.estimate >= other.estimate
}

// lessFor is how long a refusal is also one of requests that cost less, but more than was left. Such a request may pass sooner than the one that
// was refused; but a client that asks for less each time must not cause a call each time.
const lessFor = 100 * time.Millisecond

// covers reports whether a request with a cost is refused as well, at some age of the refusal.
func (f *refusal) covers(plan *plan, c cost, age time.Duration) bool {
	d := f.decision
	if c.atLeast(f.cost) {
		return true
	}
	if age > lessFor {
		return false
	}
	for i := range d.Limits {
		if l := &d.Limits[i]; l.Refuses() && l.Remaining < plan.costOf(l.Endpoint, l.Name, c.weight) {
			return true
		}
	}
	for i := range d.Budgets {
		if b := &d.Budgets[i]; !b.Allowed && (d.Reason == ReasonPenalty || b.Remaining < (Amounts{c.estimate, c.units}).of(b.Unit)) {
			return true
		}
	}
	return false
}

// cachedRefusal fills in a cached refusal: of the request's subjects, of a block, or of a global limit. The subjects' own limits do not refuse
// a receipt that this process admitted, because Redis may admit it again.
func (g *Guard) cachedRefusal(d *Decision, plan *plan, w *whom, r *Request, at monotime.Time) bool {
	if g.refusals.Empty(at) {
		return false
	}
	known := r.Receipt != "" && g.refusals.HasReceipt(receiptKey(plan, w, r))
	if !known && !plan.countsAttempts && g.fillFromCache(d, ownKey(plan, w), plan, w, r, at) {
		return true
	}
	for _, s := range r.Subjects {
		if g.fillFromCache(d, blockKey(s), plan, w, r, at) {
			return true
		}
	}
	if plan.countsAttempts {
		return w.attempts != "" && g.fillFromCache(d, namedKey(plan, w.attempts), plan, w, r, at)
	}
	for i := range w.rows.all() {
		if plan.rows[i].limit.Global && g.fillFromCache(d, globalKey(plan, i), plan, w, r, at) {
			return true
		}
	}
	return false
}

// fillFromCache fills in the refusal that is cached under a key.
func (g *Guard) fillFromCache(d *Decision, key refusals.Key, plan *plan, w *whom, r *Request, at monotime.Time) bool {
	found, age, ok := g.refusals.Find(key, at)
	if !ok || !found.covers(plan, costOf(plan, w, r), age) {
		return false
	}
	kept := found.decision
	endpoint, subject := d.Endpoint, d.Subject
	*d = *kept
	d.Endpoint, d.Subject = endpoint, subject
	d.Cached, d.Age = true, age
	d.RetryAfter -= age
	return true
}

// cacheOutcome caches a refusal that ends by waiting, or a receipt that Redis admitted. If refused requests are attempts, it caches only blocks,
// because further attempts must reach Redis. It does not cache the attempt that starts a block: its wait may come from a limit and outlast
// the block.
func (g *Guard) cacheOutcome(plan *plan, w *whom, r *Request, d *Decision, at monotime.Time) {
	if g.refusals == nil {
		return
	}
	// Its repeats are used up, or it asks for more than it has paid, of which each try would be a call.
	if r.Receipt != "" && !d.Allowed && (!d.Duplicate || d.refusesMoney()) && d.Fallback == FallbackNone && d.Reason != ReasonBlocked {
		g.refusals.ForgetReceipt(receiptKey(plan, w, r))
	}
	switch {
	case d.Allowed:
		if r.Receipt != "" && plan.dedup > 0 {
			g.refusals.AddReceipt(receiptKey(plan, w, r), plan.dedup)
		}
	case d.Fallback != FallbackNone || !waitHelps(d.Reason) || d.Reason == ReasonAttempts:
	case d.Reason == ReasonBlocked: // a block refuses every request of its subject, one of the policy at the endpoints that name it
		block := &Decision{Reason: ReasonBlocked, Refused: d.Refused, Block: d.Block, RetryAfter: d.block, Strikes: d.Strikes}
		key := blockKey(d.Refused)
		if d.Block != "" {
			key = namedKey(plan, d.Refused)
		}
		g.refusals.Add(key, &refusal{decision: block}, []string{d.Refused}, at, d.block)
	case plan.outbound && slices.ContainsFunc(d.Budgets, func(b BudgetState) bool { return !b.Allowed }): // others may settle less than they reserved
	case plan.countsAttempts || d.needsPlace() && d.Reason != ReasonGlobal:
	case d.Reason == ReasonGlobal:
		g.cacheGlobalRefusals(plan, w, r, d, at)
	default:
		kept := *d
		g.refusals.Add(ownKey(plan, w), &refusal{&kept, costOf(plan, w, r)}, affectedSubjects(d), at, d.RetryAfter)
	}
}

// refusesMoney reports whether a budget refuses the request.
func (d *Decision) refusesMoney() bool { return d.Reason == ReasonBudget || d.Reason == ReasonPenalty }

// cacheGlobalRefusals caches the global limits that refuse, for the requests of all subjects.
func (g *Guard) cacheGlobalRefusals(plan *plan, w *whom, r *Request, d *Decision, at monotime.Time) {
	for i := range w.rows.all() {
		for n := range d.Limits {
			if l := &d.Limits[n]; plan.rows[i].limit.Global && l.Subject == w.rowSubjects[i] && l.Refuses() && l.Kind != policy.Concurrency {
				alone := &Decision{Reason: ReasonGlobal, RetryAfter: l.RetryAfter, Limits: d.Limits[n : n+1 : n+1]}
				g.refusals.Add(globalKey(plan, i), &refusal{alone, cost{weight: r.Weight}}, []string{l.Subject}, at, l.RetryAfter)
			}
		}
	}
}

// affectedSubjects returns the subjects whose refunds invalidate a refusal. On several servers each refusal by one limit refunds the
// subjects of the others; those refunds do not invalidate it.
func affectedSubjects(d *Decision) []string {
	subjects := []string{d.Refused}
	for i := range d.Budgets {
		if b := &d.Budgets[i]; !slices.Contains(subjects, b.Subject) {
			subjects = append(subjects, b.Subject)
		}
	}
	for i := range d.Limits {
		if l := &d.Limits[i]; l.Refuses() && !slices.Contains(subjects, l.Subject) {
			subjects = append(subjects, l.Subject)
		}
	}
	return subjects
}

// KnownRefusal returns the decision about a request that is refused whatever other identities it has: an override denies one of its subjects, or
// this process knows a block of one, or that only limits refuse which count one alone. It returns nil for any other request, and sends nothing.
// Middleware asks it for the client's address before it verifies tokens and keys, so that a refused client costs no signatures. request
// returns the request; KnownRefusal does not call it while this process knows of no refusal.
func (g *Guard) KnownRefusal(ctx context.Context, request func() Request) *Decision {
	start := monotime.Now()
	snapshot := g.snapshot.Load()
	overrides := snapshot.current()
	if overrides == nil && g.refusals.Empty(start) {
		return nil
	}
	r := request()
	asked := &r
	own, plan, err := snapshot.plan(asked)
	if err != nil {
		return nil
	}
	if r.Weight == 0 {
		r.Weight = 1
	}
	var resolved whom
	own.resolve(&resolved, plan, asked, overrides)
	d := &Decision{Endpoint: r.Endpoint, Subject: resolved.client}
	if overridden(overrides, d, asked) {
		if d.Allowed {
			return nil
		}
	} else if overrides.lifts() || snapshot.hasTariffs() || own.hasTariffs() || plan.dedup > 0 || !g.refusedAlone(d, plan, &resolved, &r, start) {
		return nil
	}
	if len(g.options.Observers) > 0 {
		g.report(ctx, Decided{Request: r.clone(), Duration: monotime.Now().Since(start)}, d)
	}
	return d
}

// refusedAlone fills in a cached refusal by a block, or by a limit that counts one of the subjects alone.
func (g *Guard) refusedAlone(d *Decision, plan *plan, w *whom, r *Request, at monotime.Time) bool {
	for _, s := range r.Subjects {
		if g.fillFromCache(d, blockKey(s), plan, w, r, at) {
			return true
		}
	}
	if plan.blocksAlone() && w.attempts != "" && g.fillFromCache(d, namedKey(plan, w.attempts), plan, w, r, at) {
		return true
	}
	if plan.countsAttempts || !g.fillFromCache(d, ownKey(plan, w), plan, w, r, at) {
		return false
	}
	for i := range d.Limits {
		if l := &d.Limits[i]; l.Refuses() && !plan.countsAlone(l.Endpoint, l.Name) {
			return false
		}
	}
	return d.Reason == ReasonLimit
}

// Block blocks a subject for all requests of the policy, in all processes, and never shortens a block. It returns within the policy's timeout. If Redis
// does not answer, it returns the error, and the block holds in this process alone, for at most Options.CacheTTL.
func (g *Guard) Block(ctx context.Context, subject string, d time.Duration, reason string) error {
	if d <= 0 {
		return nil
	}
	d = max(d, time.Millisecond)
	now, left := monotime.Now(), d
	if known, age, ok := g.refusals.Find(blockKey(subject), now); ok {
		left = max(d, known.decision.RetryAfter-age)
	}
	g.refusals.Add(blockKey(subject), &refusal{decision: &Decision{Reason: ReasonBlocked, Refused: subject, RetryAfter: left}}, nil, now, left)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.Policy().Timeout)
	defer cancel()
	_, err := g.blocks.Block(ctx, abuse.BlockParams{Subject: fcall.Subject(subject), Duration: d, Reason: reason})
	return err
}
