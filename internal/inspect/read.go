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
	"github.com/rlfunc/rlfunc/internal/overrides"
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
	times, topUps, err := r.override(ctx, rep)
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
		for _, a := range found.Admissions {
			row.Admissions = append(row.Admissions, a.At)
		}
	}
	var topUps []policy.TopUp
	found, err := r.guard.Peek(ctx, guard.PeekParams{Subject: wire.GlobalPrefix + wire.GlobalAccount})
	if err == nil {
		rep.Now = found.Now
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
	found, err := r.overrides.List(ctx, override.ListParams{Subject: wire.OverridesSubject})
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
	if a := r.policy.Abuse; a != nil && r.policy.Counts(a.By, rep.Subject) {
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
func (r *Reader) budgets(ctx context.Context, rep *Report, times int64, topUps []policy.TopUp) error {
	if r.policy.Cost == nil {
		return nil
	}
	subject, topped, counted := fcall.Subject(rep.Subject), rep.Subject, func(b *policy.Budget) bool { return r.policy.Counts(b.By, rep.Subject) }
	if rep.Subject == globalSubject {
		subject, topped, counted = wire.GlobalPrefix+wire.GlobalAccount, policy.ByAll, func(b *policy.Budget) bool { return b.By.Global() }
	}
	accounts := map[string][]cost.AccountBudget{} // by unit
	for i := range r.policy.Cost.Budgets {
		b := &r.policy.Cost.Budgets[i]
		if !counted(b) {
			continue
		}
		scale, more := scaleOf(b.Unit), fcall.Micros(0)
		if t := slices.IndexFunc(topUps, func(t policy.TopUp) bool { return t.Budget == b.Name && t.Subject == topped }); t >= 0 {
			more = fcall.Micros(topUps[t].Amount)
		}
		limit := cost.AccountBudget{Budget: wire.RaiseBudget(b.Unit, fcall.Micros(b.Budget)/scale, times, more), Window: b.Window}
		row := Budget{
			Name: b.Name, Unit: b.Unit, Budget: Money(limit.Budget * scale), Window: Seconds(b.Window), Every: string(b.Every), TopUp: Money(min(more, maxShown/scale) * scale),
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
		scale := scaleOf(unit)
		for i := range rep.Budgets {
			if b := &rep.Budgets[i]; b.Unit == unit {
				row := found.Limits[0]
				found.Limits = found.Limits[1:]
				b.Spent, b.Remaining = Money(min(row.Spent, maxShown/scale)*scale), Money(row.Remaining*scale)
				b.Exhausted, b.RetryAfter = !row.Allowed, Seconds(row.RetryAfter)
			}
		}
		if found.Reason == cost.PeekReasonPenalty {
			rep.Penalty = max(rep.Penalty, Seconds(found.RetryAfter))
		}
	}
	return nil
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
	rep.Known = rep.Override != nil || rep.Block != nil || len(rep.Attempts)+len(rep.StrikeTimes)+len(rep.Reservations)+len(rep.Challenges) > 0
	rep.Refused = rep.Block != nil || rep.Override != nil && rep.Override.Deny || rep.Penalty > 0
	for i := range rep.Limits {
		l := &rep.Limits[i]
		rep.Known = rep.Known || l.Used > 0
		rep.Refused = rep.Refused || !l.Allowed && !l.Shadow
	}
	for i := range rep.Budgets {
		rep.Known = rep.Known || rep.Budgets[i].Spent > 0 || rep.Budgets[i].TopUp > 0
		rep.Refused = rep.Refused || rep.Budgets[i].Exhausted
	}
	if rep.Override != nil && rep.Override.Allow {
		rep.Refused = false
	}
}
