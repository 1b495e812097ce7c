package inspect

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/wire"
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
	times, err := r.override(ctx, rep)
	if err == nil {
		rep.Limits = listed(r.policy, subject, times)
		err = r.history(ctx, rep)
	}
	if err == nil {
		err = r.block(ctx, rep)
	}
	if err == nil {
		err = r.peek(ctx, fcall.Subject(subject), rep.Limits, rep.Now)
	}
	if err == nil {
		err = r.budgets(ctx, rep, times)
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
		Format: 1, Subject: subject, Namespace: r.policy.Namespace, Limits: []Limit{}, Budgets: []Budget{}, Tiers: []Tier{},
		Attempts: []time.Time{}, StrikeTimes: []time.Time{}, Reservations: []Reservation{}, Challenges: []Challenge{},
	}
}

// Globals reports on the global limits.
func (r *Reader) Globals(ctx context.Context) (*Report, error) {
	rep := r.newReport(globalSubject)
	rep.Limits = rowsOf(r.policy, policy.By.Global)
	for i := range rep.Limits {
		row := &rep.Limits[i]
		subject := fcall.Subject(wire.GlobalPrefix + row.path())
		found, err := r.guard.Peek(ctx, guard.PeekParams{Subject: subject, Limits: []guard.PeekLimits{{Name: row.path()}}})
		if err == nil {
			err = r.peek(ctx, subject, rep.Limits[i:i+1], found.Now)
		}
		if err != nil {
			return nil, fmt.Errorf("inspect %s: %w", subject, err)
		}
		rep.Now = found.Now
		for _, a := range found.Admissions {
			row.Admissions = append(row.Admissions, a.At)
		}
	}
	if err := r.budgets(ctx, rep, 1); err != nil {
		return nil, fmt.Errorf("inspect %s: %w", globalSubject, err)
	}
	rep.conclude()
	return rep, nil
}

// globalSubject is the subject of the report on what counts all requests.
const globalSubject = "global"

// override sets the report's Override and returns the factor of the subject's limits.
func (r *Reader) override(ctx context.Context, rep *Report) (times int64, err error) {
	held, err := r.runtime(ctx)
	if err != nil {
		return 0, err
	}
	merged := r.policy.OverridesWith(held)
	file, sum := overrideOf(&r.policy.Overrides, rep.Subject), overrideOf(&merged, rep.Subject)
	if sum.Runtime = sum != file; sum.Allow || sum.Deny || sum.Multiply > 1 {
		rep.Override = &sum
	}
	return sum.Multiply, nil
}

// runtime returns the overrides that operators set at run time. It returns none if the library is missing or not permitted.
func (r *Reader) runtime(ctx context.Context) (map[string]policy.Override, error) {
	found, err := r.overrides.List(ctx, override.ListParams{Subject: wire.OverridesSubject})
	if err != nil {
		if errors.Is(err, fcall.ErrNotLoaded) || errors.Is(err, fcall.ErrNoPermission) {
			err = nil
		}
		return nil, err
	}
	held := map[string]policy.Override{}
	for _, o := range found.Overrides {
		one := policy.Override{Allow: o.Effect == override.ListOverridesEffectAllow, Deny: o.Effect == override.ListOverridesEffectDeny, Multiply: o.Factor}
		if one.Deny || r.policy.CheckOverride(o.Subject, policy.Override{Allow: one.Allow, Multiply: 1}) == nil {
			held[o.Subject] = one
		}
	}
	return held, nil
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

// history reads the subject's admissions, attempts, strikes, reservations and challenges.
func (r *Reader) history(ctx context.Context, rep *Report) error {
	rows, logs := rep.Limits, []int(nil)
	for i := range rows {
		if rows[i].Kind == policy.SlidingLog {
			logs = append(logs, i)
		}
	}
	for first := true; first || len(logs) > 0; first = false {
		some := logs[:min(len(logs), maxLimitsPerCall)]
		logs = logs[len(some):]
		p := guard.PeekParams{Subject: fcall.Subject(rep.Subject)}
		for _, i := range some {
			p.Limits = append(p.Limits, guard.PeekLimits{Name: rows[i].path()})
		}
		found, err := r.guard.Peek(ctx, p)
		if err != nil {
			return err
		}
		for _, a := range found.Admissions {
			row := &rows[some[a.Limit-1]]
			row.Admissions = append(row.Admissions, a.At)
		}
		if first {
			rep.addHistory(&found)
		}
	}
	return nil
}

func (rep *Report) addHistory(found *guard.PeekResult) {
	rep.Now = found.Now
	for _, a := range found.Attempts {
		rep.Attempts = append(rep.Attempts, a.At)
	}
	for _, s := range found.Strikes {
		rep.StrikeTimes = append(rep.StrikeTimes, s.At)
	}
	for _, v := range found.Reservations {
		rep.Reservations = append(rep.Reservations, Reservation{ID: v.ID, State: string(v.State), Amount: Money(v.Amount), At: v.At, Until: v.CountsUntil})
	}
	for _, c := range found.Challenges {
		rep.Challenges = append(rep.Challenges, Challenge{Token: shortened(c.Token), State: string(c.State), Payload: c.Payload, Issued: c.Issued, Expires: c.Expires})
	}
}

// shortened returns the beginning of a token: enough to identify it, too little to use it.
func shortened(token string) string {
	return token[:min(8, len(token)/2)] + "..."
}

func (r *Reader) block(ctx context.Context, rep *Report) error {
	p := abuse.StatusParams{Subject: fcall.Subject(rep.Subject)}
	if a := r.policy.Abuse; a != nil && Counts(r.policy, a.By, rep.Subject) {
		p.StrikeMemory = a.StrikeMemory
		var longest time.Duration
		for _, t := range a.Tiers {
			longest = max(longest, t.Window)
			p.Tiers = append(p.Tiers, abuse.StatusTiers{Threshold: t.Threshold, Window: t.Window})
			rep.Tiers = append(rep.Tiers, Tier{Threshold: t.Threshold, Window: Seconds(t.Window), Block: Seconds(t.Block)})
		}
		// Redis keeps attempts as long as strikes. Those outside every tier's window do not count.
		rep.Attempts = slices.DeleteFunc(rep.Attempts, func(at time.Time) bool { return !at.After(rep.Now.Add(-longest)) })
	}
	status, err := r.abuse.Status(ctx, p)
	if err != nil {
		return err
	}
	for i := range status.Tiers {
		rep.Tiers[i].Count = status.Tiers[i].Count
	}
	rep.Strikes = status.Strikes
	if status.Blocked {
		rep.Block = &Block{Tier: status.Tier, Reason: status.Reason, RetryAfter: Seconds(status.RetryAfter), Until: rep.Now.Add(status.RetryAfter)}
	}
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
				Previous: l.period.Previous, Start: l.period.Start, After: l.period.After,
			}
		}
		pack, err := ratelimit.PackLimit(limits...)
		if err != nil {
			return err
		}
		found, err := r.limits.CheckPeek(ctx, ratelimit.CheckPeekParams{Subject: subject, Limits: pack})
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

// budgets reads what is spent of the subject's budgets, an account at a time: those of money, and those of each other unit.
func (r *Reader) budgets(ctx context.Context, rep *Report, times int64) error {
	if r.policy.Cost == nil {
		return nil
	}
	subject, counted := fcall.Subject(rep.Subject), func(b *policy.Budget) bool { return Counts(r.policy, b.By, rep.Subject) }
	if rep.Subject == globalSubject {
		subject, counted = wire.GlobalPrefix+wire.GlobalAccount, func(b *policy.Budget) bool { return b.By.Global() }
	}
	accounts := map[string][]cost.AccountBudget{} // by unit
	for i := range r.policy.Cost.Budgets {
		b := &r.policy.Cost.Budgets[i]
		if !counted(b) {
			continue
		}
		row := Budget{Name: b.Name, Unit: b.Unit, Budget: Money(wire.MultiplyBudget(b.Budget, times)), Window: Seconds(b.Window), Every: string(b.Every)}
		limit := cost.AccountBudget{Budget: fcall.Micros(row.Budget), Window: b.Window}
		if b.Unit != "" {
			limit.Budget /= oneUnit
		}
		if c, _ := b.Calendar(); c != nil { // the policy was checked
			p := c.Around(time.Now())
			limit.Window, limit.Previous, limit.Start, limit.After = p.Next.Sub(p.Start), p.Previous, p.Start, p.After
			row.Window = Seconds(limit.Window)
		}
		accounts[b.Unit] = append(accounts[b.Unit], limit)
		rep.Budgets = append(rep.Budgets, row)
	}
	for unit, limits := range accounts {
		pack, err := cost.PackAccountBudget(limits...)
		if err != nil {
			return err
		}
		found, err := r.cost.Peek(ctx, cost.PeekParams{Subject: subject, Limits: pack, Unit: unit, Estimate: 1})
		if err != nil {
			return err
		}
		scale := fcall.Micros(1)
		if unit != "" {
			scale = oneUnit
		}
		for i := range rep.Budgets {
			if b := &rep.Budgets[i]; b.Unit == unit {
				row := found.Limits[0]
				found.Limits = found.Limits[1:]
				b.Spent, b.Remaining = Money(min(row.Spent, math.MaxInt64/scale)*scale), Money(row.Remaining*scale)
				b.Exhausted, b.RetryAfter = !row.Allowed, Seconds(row.RetryAfter)
			}
		}
		if found.Reason == cost.PeekReasonPenalty {
			rep.Penalty = max(rep.Penalty, Seconds(found.RetryAfter))
		}
	}
	return nil
}

// oneUnit is one of a unit in millionths.
const oneUnit = 1_000_000

// conclude sets Known and Refused.
func (rep *Report) conclude() {
	rep.Known = rep.Override != nil || rep.Block != nil || len(rep.Attempts)+len(rep.StrikeTimes)+len(rep.Reservations)+len(rep.Challenges) > 0
	rep.Refused = rep.Block != nil || rep.Override != nil && rep.Override.Deny || rep.Penalty > 0
	for i := range rep.Limits {
		l := &rep.Limits[i]
		rep.Known = rep.Known || l.Used > 0
		rep.Refused = rep.Refused || !l.Allowed && !l.Shadow
	}
	for i := range rep.Budgets {
		rep.Known = rep.Known || rep.Budgets[i].Spent > 0
		rep.Refused = rep.Refused || rep.Budgets[i].Exhausted
	}
	if rep.Override != nil && rep.Override.Allow {
		rep.Refused = false
	}
}
