package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/calendar"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/agreed"
	"github.com/rlfunc/rlfunc/internal/overrides"
)

// Libraries are the libraries that a Reader calls.
var Libraries = []*fcall.Library{guard.Library, ratelimit.Library, abuse.Library, cost.Library, override.Library}

// A Reader reads the state of subjects under one policy.
type Reader struct {
	policy *policy.Policy
	limits *ratelimit.Client
	abuse  *abuse.Client
	cost   *cost.Client
	guard  *guard.Client

	overrides *override.Client
}

// NewReader returns a reader for a complete policy. It sends nothing.
func NewReader(rdb fcall.Caller, p *policy.Policy) (*Reader, error) {
	o := fcall.Options{Namespace: p.Namespace}
	r := &Reader{policy: p}
	var errs [5]error
	r.limits, errs[0] = ratelimit.New(rdb, o)
	r.abuse, errs[1] = abuse.New(rdb, o)
	r.cost, errs[2] = cost.New(rdb, o)
	r.guard, errs[3] = guard.New(rdb, o)
	r.overrides, errs[4] = override.New(rdb, o)
	return r, errors.Join(errs[:]...)
}

// Subject reports on one subject.
func (r *Reader) Subject(ctx context.Context, subject string) (*Report, error) {
	of := *r
	r, of.policy = &of, r.policy.ForSubject(subject)
	rep := r.newReport(subject)
	times, topUps, err := r.override(ctx, rep)
	if err == nil {
		rep.Limits = listed(r.policy, subject, times)
		err = r.history(ctx, rep)
	}
	if err == nil {
		err = r.blocks(ctx, rep)
	}
	if err == nil {
		err = r.peek(ctx, fcall.Subject(subject), rep.Limits, rep.Now)
	}
	if err == nil {
		err = r.budgets(ctx, rep, times, topUps)
	}
	if err != nil {
		return nil, fmt.Errorf("inspect %s: %w", subject, err)
	}
	rep.conclude()
	return rep, nil
}

// newReport returns a report whose lists are empty and not nil, so that JSON has [] in place of null.
func (r *Reader) newReport(subject string) *Report {
	return &Report{
		Format: 1, Subject: subject, Namespace: r.policy.Namespace, Limits: []Limit{}, Budgets: []Budget{}, Blocks: []Attempts{},
		Challenges: []Challenge{},
	}
}

// Globals reports on the global limits.
func (r *Reader) Globals(ctx context.Context) (*Report, error) {
	rep := r.newReport(globalSubject)
	rep.Limits = rowsOf(r.policy, policy.By.Global)
	var topUps []policy.TopUp
	found, err := r.guard.Peek(ctx, guard.PeekParams{Subject: agreed.GlobalPrefix + agreed.GlobalAccount})
	rep.Now = found.Now
	for i := range rep.Limits {
		if err == nil {
			err = r.peek(ctx, fcall.Subject(agreed.GlobalPrefix+rep.Limits[i].path()), rep.Limits[i:i+1], found.Now)
		}
	}
	if err == nil {
		_, topUps, err = r.override(ctx, rep)
	}
	if err == nil {
		err = r.budgets(ctx, rep, 1, topUps)
	}
	if err != nil {
		return nil, fmt.Errorf("inspect %s: %w", globalSubject, err)
	}
	rep.conclude()
	return rep, nil
}

// globalSubject is the subject of the report on what counts all requests.
const globalSubject = "global"

// override sets the report's Override, and returns the factor of the subject's limits and all top-ups. Without the library, or without permission
// to call it, it knows only the policy's overrides.
func (r *Reader) override(ctx context.Context, rep *Report) (times int64, topUps []policy.TopUp, err error) {
	found, err := r.overrides.List(ctx, override.ListParams{Subject: agreed.OverridesSubject})
	if err != nil && !errors.Is(err, fcall.ErrNotLoaded) && !errors.Is(err, fcall.ErrNoPermission) {
		return 0, nil, err
	}
	held, topUps := overrides.Of(r.policy, found.Overrides, nil)
	merged := r.policy.OverridesWith(held)
	file, sum := overrideOf(&r.policy.Overrides, rep.Subject), overrideOf(&merged, rep.Subject)
	if sum.Runtime = sum != file; sum.Allow || sum.Deny || sum.Multiply > 1 {
		rep.Override = &sum
	}
	return sum.Multiply, topUps, nil
}

// overrideOf merges the overrides of a subject, or of the identities that it combines.
func overrideOf(o *policy.Overrides, subject string) Override {
	all, sum := o.Lookup(), Override{Multiply: 1}
	for part := range strings.SplitSeq(subject, "+") {
		o := all.Of(part)
		sum.Deny, sum.Allow, sum.Multiply = sum.Deny || o.Deny, sum.Allow || o.Allow, max(sum.Multiply, o.Multiply)
	}
	sum.Allow = sum.Allow && !sum.Deny
	return sum
}

// maxLimitsPerCall is the most limits that one call takes.
const maxLimitsPerCall = 16

// history reads the subject's challenges.
func (r *Reader) history(ctx context.Context, rep *Report) error {
	found, err := r.guard.Peek(ctx, guard.PeekParams{Subject: fcall.Subject(rep.Subject)})
	if err == nil {
		rep.addHistory(&found)
	}
	return err
}

func (rep *Report) addHistory(found *guard.PeekResult) {
	rep.Now = found.Now
	for _, c := range found.Challenges {
		rep.Challenges = append(rep.Challenges, Challenge{Token: shortened(c.Token), State: string(c.State), Payload: c.Payload, Issued: c.Issued, Expires: c.Expires})
	}
}

// shortened returns the beginning of a token: enough to identify it, too little to use it.
func shortened(token string) string {
	return token[:min(8, len(token)/2)] + "..."
}

// blocks reads an operator's block, and what the policy's blocks count of the subject.
func (r *Reader) blocks(ctx context.Context, rep *Report) error {
	status, err := r.abuse.Status(ctx, abuse.StatusParams{Subject: fcall.Subject(rep.Subject)})
	if err != nil {
		return err
	}
	rep.Block = rep.active(&status)
	for i := range r.policy.Blocks {
		if b := &r.policy.Blocks[i]; r.policy.Counts(b.By, rep.Subject) {
			if err := r.attempts(ctx, rep, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// active returns the block in effect, or nil.
func (rep *Report) active(status *abuse.StatusResult) *Block {
	if !status.Blocked {
		return nil
	}
	return &Block{Tier: status.Tier, Reason: status.Reason, RetryAfter: Seconds(status.RetryAfter), Until: rep.Now.Add(status.RetryAfter)}
}

// attempts adds what a block of the policy counts of the subject.
func (r *Reader) attempts(ctx context.Context, rep *Report, b *policy.Block) error {
	a := Attempts{Name: b.Name, Endpoints: []string{}, Attempts: []time.Time{}, StrikeTimes: []time.Time{}}
	for i := range r.policy.Endpoints {
		if e := &r.policy.Endpoints[i]; e.Block == b.Name {
			a.Endpoints = append(a.Endpoints, e.Name)
		}
	}
	subject := fcall.Subject(rep.Subject)
	found, err := r.guard.Peek(ctx, guard.PeekParams{Subject: subject, Block: b.Name})
	if err != nil {
		return err
	}
	var longest time.Duration
	var tiers []abuse.StatusTiers
	for _, t := range b.Tiers {
		longest = max(longest, t.Window)
		tiers = append(tiers, abuse.StatusTiers{Threshold: t.Threshold, Window: t.Window})
		a.Tiers = append(a.Tiers, Tier{Threshold: t.Threshold, Window: Seconds(t.Window), Block: Seconds(t.Block)})
	}
	for _, one := range found.Attempts {
		if one.At.After(rep.Now.Add(-longest)) { // Redis may keep older ones, which do not count
			a.Attempts = append(a.Attempts, one.At)
		}
	}
	for _, s := range found.Strikes {
		a.StrikeTimes = append(a.StrikeTimes, s.At)
	}
	status, err := r.abuse.Status(ctx, abuse.StatusParams{Subject: subject, Name: b.Name, Tiers: abuse.PackStatusTiers(tiers...), StrikeMemory: b.StrikeMemory})
	if err != nil {
		return err
	}
	for i := range status.Tiers {
		a.Tiers[i].Count = status.Tiers[i].Count
	}
	a.Strikes, a.Block = status.Strikes, rep.active(&status)
	rep.Blocks = append(rep.Blocks, a)
	return nil
}

// peek reads the remaining capacity of each limit.
func (r *Reader) peek(ctx context.Context, subject fcall.Subject, rows []Limit, now time.Time) error {
	for len(rows) > 0 {
		some := rows[:min(len(rows), maxLimitsPerCall)]
		rows = rows[len(some):]
		limits := make([]ratelimit.Limit, len(some))
		for i := range some {
			l := &some[i]
			limits[i] = ratelimit.Limit{
				Name: l.path(), Kind: ratelimit.LimitKind(l.Kind), Limit: l.Limit, Window: time.Duration(l.Window + l.Lease), Burst: l.Burst, Cost: new(l.Cost),
			}
			if l.Kind == policy.Quota {
				limits[i].Window, limits[i].Previous, limits[i].Start, limits[i].Next, limits[i].After = 0, l.period.Previous, l.period.Start, l.period.Next, l.period.After
			}
		}
		found, err := r.limits.Check(ctx, ratelimit.CheckParams{Subject: subject, Limits: ratelimit.PackLimit(limits...), Look: true})
		if err != nil {
			return err
		}
		for i := range some {
			some[i].answer(&found.Limits[i], now)
		}
	}
	return nil
}

func (l *Limit) answer(a *ratelimit.LimitResult, now time.Time) {
	l.Allowed, l.Remaining, l.RetryAfter, l.ResetAfter = a.Allowed, a.Remaining, Seconds(a.RetryAfter), Seconds(a.ResetAfter)
	l.Used = max(l.most()-a.Remaining, 0)
	if !a.Allowed {
		at := now.Add(a.RetryAfter)
		l.AdmitsAt = &at
	}
}

// budgets reads what is spent of the subject's budgets.
func (r *Reader) budgets(ctx context.Context, rep *Report, times int64, topUps []policy.TopUp) error {
	subject, topped, counted := fcall.Subject(rep.Subject), rep.Subject, func(b *policy.Budget) bool { return r.policy.Counts(b.By, rep.Subject) }
	if rep.Subject == globalSubject {
		subject, topped, counted = agreed.GlobalPrefix+agreed.GlobalAccount, policy.ByAll, func(b *policy.Budget) bool { return b.By.Global() }
	}
	var rows []cost.Budget
	for i := range r.policy.Budgets {
		b := &r.policy.Budgets[i]
		if !counted(b) {
			continue
		}
		scale, more := scaleOf(b.Unit), fcall.Micros(0)
		if t := slices.IndexFunc(topUps, func(t policy.TopUp) bool { return t.Budget == b.Name && t.Subject == topped }); t >= 0 {
			more = fcall.Micros(topUps[t].Amount)
		}
		limit, window := RowOf(b)
		limit.Budget = agreed.RaiseBudget(b.Unit, fcall.Micros(b.Budget)/scale, times, more)
		row := Budget{
			Name: b.Name, Unit: b.Unit, Budget: Money(limit.Budget * scale), Window: Seconds(window), Every: string(b.Every), TopUp: Money(min(more, maxShown/scale) * scale),
			Refuses: []Estimate{},
		}
		rows = append(rows, limit)
		rep.Budgets = append(rep.Budgets, row)
	}
	if len(rows) == 0 {
		return nil
	}
	packed := cost.PackBudget(rows...)
	for i, e := range estimates(r.policy, rows) {
		found, err := r.cost.Peek(ctx, cost.PeekParams{Subject: subject, Budgets: packed, Estimate: e.money, Units: cost.PackUnitAmount(e.units...)})
		if err != nil {
			return err
		}
		for n, row := range found.Budgets {
			b := &rep.Budgets[n]
			scale := scaleOf(b.Unit)
			switch {
			case i == 0:
				b.Spent, b.Remaining = Money(min(row.Spent, maxShown/scale)*scale), Money(row.Remaining*scale)
				b.Exhausted, b.RetryAfter = !row.Allowed, Seconds(row.RetryAfter)
			case !row.Allowed:
				b.Refuses = append(b.Refuses, Estimate{e.endpoints, Money(e.of(b.Unit) * scale), Seconds(row.RetryAfter)})
			}
		}
		if found.Reason == cost.PeekReasonPenalty {
			rep.Penalty = Seconds(found.RetryAfter)
		}
	}
	return nil
}

// An estimate is what a request to some endpoints reserves.
type estimate struct {
	endpoints []string
	money     fcall.Micros
	units     []cost.UnitAmount
}

func (e *estimate) of(unit string) fcall.Micros {
	if unit == "" {
		return e.money
	}
	i := slices.IndexFunc(e.units, func(u cost.UnitAmount) bool { return u.Unit == unit })
	if i < 0 {
		return 0
	}
	return fcall.Micros(e.units[i].Amount)
}

// estimates returns what requests reserve from budgets: first one of each unit, which tells whether anything is left, then the estimates of
// the policy's endpoints.
func estimates(p *policy.Policy, budgets []cost.Budget) []estimate {
	all := []estimate{{money: 1}}
	for _, b := range budgets {
		if b.Unit != "" && all[0].of(b.Unit) == 0 {
			all[0].units = append(all[0].units, cost.UnitAmount{Unit: b.Unit, Amount: 1})
		}
	}
	for _, e := range p.Endpoints {
		if e.Cost == nil {
			continue
		}
		own := estimate{endpoints: []string{e.Name}, money: fcall.Micros(e.Cost.Estimate)}
		for _, u := range all[0].units {
			if n := e.Cost.Units[u.Unit]; n > 0 {
				own.units = append(own.units, cost.UnitAmount{Unit: u.Unit, Amount: n})
			}
		}
		if own.money == 0 && len(own.units) == 0 {
			continue
		}
		same := func(o estimate) bool {
			return o.endpoints != nil && o.money == own.money && slices.Equal(o.units, own.units)
		}
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i].endpoints = append(all[i].endpoints, e.Name)
		} else {
			all = append(all, own)
		}
	}
	return all
}

// maxShown is the largest amount of a report.
const maxShown fcall.Micros = math.MaxInt64

// scaleOf returns what one of an account is in millionths: an account of a unit has whole ones.
func scaleOf(unit string) fcall.Micros {
	if unit == "" {
		return 1
	}
	return 1_000_000
}

// conclude sets Known and Refused.
func (rep *Report) conclude() {
	rep.Known = rep.Override != nil || rep.Block != nil || len(rep.Challenges) > 0
	rep.Refused = rep.Block != nil || rep.Override != nil && rep.Override.Deny || rep.Penalty > 0
	for _, a := range rep.Blocks {
		rep.Known = rep.Known || a.Block != nil || len(a.Attempts)+len(a.StrikeTimes) > 0
		rep.Refused = rep.Refused || a.Block != nil
	}
	for i := range rep.Limits {
		l := &rep.Limits[i]
		rep.Known = rep.Known || l.Used > 0
		rep.Refused = rep.Refused || !l.Allowed && !l.Shadow
	}
	for i := range rep.Budgets {
		rep.Known = rep.Known || rep.Budgets[i].Spent > 0 || rep.Budgets[i].TopUp > 0
		rep.Refused = rep.Refused || rep.Budgets[i].Exhausted || len(rep.Budgets[i].Refuses) > 0
	}
	if rep.Override != nil && rep.Override.Allow {
		rep.Refused = false
	}
}

// listed returns the limits that count a subject, those of every endpoint first.
func listed(p *policy.Policy, subject string, times int64) []Limit {
	rows := rowsOf(p, func(by policy.By) bool { return p.Counts(by, subject) })
	for i := range rows {
		rows[i].Limit = agreed.MultiplyLimit(rows[i].Kind, rows[i].Limit, times)
		rows[i].Burst = agreed.MultiplyLimit(rows[i].Kind, rows[i].Burst, times)
	}
	return rows
}

// Period returns the window of a limit, which is the lease of a concurrency, and the period that a quota is in by this machine's clock.
func Period(l policy.Limit) (time.Duration, calendar.Boundaries) {
	if l.Kind == policy.Concurrency {
		return l.Lease, calendar.Boundaries{}
	}
	c, err := l.Calendar()
	if c == nil || err != nil {
		return l.Window, calendar.Boundaries{}
	}
	b := c.Around(time.Now())
	return b.Next.Sub(b.Start), b
}

// RowOf returns the row of library cost that finds what is spent of a budget, without its amount, and the length of its window or of the period
// that it is in by this machine's clock.
func RowOf(b *policy.Budget) (cost.Budget, time.Duration) {
	row := cost.Budget{Window: b.Window, Unit: b.Unit, Name: b.Name}
	c, _ := b.Calendar() // the policy was checked
	if c == nil {
		return row, b.Window
	}
	p := c.Around(time.Now())
	row.Previous, row.Start, row.Next, row.After = p.Previous, p.Start, p.Next, p.After
	return row, p.Next.Sub(p.Start)
}

// rowsOf returns the limits with a wanted By, those of every endpoint first.
func rowsOf(p *policy.Policy, wanted func(policy.By) bool) []Limit {
	rows := []Limit{}
	add := func(limits []policy.Limit, endpoint string) {
		for _, l := range limits {
			if wanted(l.By) {
				window, period := Period(l)
				if l.Kind == policy.Concurrency {
					window = 0
				}
				zone := ""
				if l.Kind == policy.Quota {
					zone = cmp.Or(l.Zone, "UTC")
				}
				rows = append(rows, Limit{
					Endpoint: endpoint, Name: l.Name, By: l.By, Global: l.By.Global(), Kind: l.Kind, Limit: l.Limit, Window: Seconds(window), Lease: Seconds(l.Lease), Burst: l.Burst,
					Every: string(l.Every), Zone: zone, Cost: l.Weight, Shadow: l.Shadow, period: period,
				})
			}
		}
	}
	add(p.Limits, "")
	for i := range p.Endpoints {
		add(p.Endpoints[i].Limits, p.Endpoints[i].Name)
	}
	return rows
}
