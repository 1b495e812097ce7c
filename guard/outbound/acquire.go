package outbound

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// MaxPause is the longest pause of an account.
const MaxPause = time.Hour

// A RefusedError is the error of Acquire for a call that may not be made in time.
type RefusedError struct {
	// Decision is the last refusal. Its Subject is the account, and its RetryAfter, which is 0 if waiting does not help, counts from Acquire's
	// return.
	Decision *guard.Decision
	// Cause is why Acquire did not wait longer: context.DeadlineExceeded or the context's error, [guard.ErrCrowded], or nil if no wait helps.
	Cause error
}

// Error returns the account, what refuses and when to try again.
func (e *RefusedError) Error() string {
	d, by := e.Decision, string(e.Decision.Reason)
	var names []string
	for i := range d.Limits {
		if d.Limits[i].Refuses() {
			names = append(names, d.Limits[i].Name)
		}
	}
	for i := range d.Budgets {
		if !d.Budgets[i].Allowed {
			names = append(names, d.Budgets[i].Name)
		}
	}
	switch {
	case d.Reason == guard.ReasonBlocked:
		by = "a pause"
	case len(names) > 0:
		by += " " + strings.Join(names, ", ")
	}
	text := fmt.Sprintf("call %s: %s is refused by %s", d.Endpoint, cmp.Or(d.Refused, d.Subject), by)
	if d.RetryAfter > 0 {
		text += fmt.Sprintf("; try again in %s", d.RetryAfter.Round(time.Millisecond))
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Cause }

// A Call is a call of an upstream that may be made.
type Call struct {
	// Decision is that of the guard. It is read-only; End ends its Charge.
	Decision *guard.Decision

	leave func()
}

// End ends what a call holds, as [guard.Charge.End] does, and lets the next one of its account ask. Every call ends; further Ends do nothing.
func (c *Call) End(ctx context.Context, e guard.End) {
	c.leave()
	c.Decision.Charge.End(ctx, e)
}

// Acquire decides about a call of an upstream of the policy, which r.Endpoint names, and waits for its turn within the context's deadline and the
// upstream's max_wait. Calls with one account are made in the order of arrival within a process; only the first that waits asks Redis. A call
// that nobody waits before is decided at once, in one round trip, unless a quarter of [guard.Options.MaxInFlight] are.
//
// r.Subjects holds the account, which [policy.Upstream.Subject] returns; it defaults to the account default. The caller makes the call once Acquire has
// returned without an error, and ends it with Call.End. Until then Acquire keeps its places. Other errors than those of guard.Guard.Decide are
// [*RefusedError]. At most half of [guard.Options.MaxWaiting] calls wait for one account.
func (t *Transport) Acquire(ctx context.Context, r guard.Request) (*Call, error) {
	p := t.guard.Policy()
	u, ok := p.Upstream(r.Endpoint)
	if !ok {
		return nil, fmt.Errorf("call %q: %w: it is no upstream", r.Endpoint, guard.ErrEndpoint)
	}
	if len(r.Subjects) == 0 {
		r.Subjects = []string{u.Subject("")}
	}
	if of, _ := p.UpstreamOf(r.Subjects[0]); of != u || len(r.Subjects) > 1 {
		return nil, &fcall.ArgumentError{Function: "outbound.acquire", Name: "Subjects", Must: "be one account of upstream " + u.Name, Got: fmt.Sprintf("%q", r.Subjects)}
	}
	return t.acquire(ctx, u, r)
}

// acquire is Acquire. r.Subjects are the account and what of it the call is about. Calls about the same wait in one line.
func (t *Transport) acquire(ctx context.Context, u *policy.Upstream, r guard.Request) (*Call, error) {
	a, first := t.accounts.enter(strings.Join(r.Subjects, " "), t.guard.Options().MaxInFlight/4)
	d, err := (*guard.Decision)(nil), error(nil)
	if first {
		d, err = t.decideFor(ctx, a, r)
	}
	if err == nil && (d == nil || !d.Allowed && d.RetryAfter > 0) {
		ends := time.Now().Add(*u.MaxWait)
		if deadline, ok := ctx.Deadline(); ok && deadline.Before(ends) {
			ends = deadline
		}
		d, err = t.inLine(ctx, a, r, d, ends)
	}
	if d == nil || !d.Allowed {
		t.accounts.leave(a)
		if d == nil {
			return nil, err
		}
		return nil, &RefusedError{Decision: d, Cause: err}
	}
	c := &Call{Decision: d, leave: func() {}}
	if d.Charge == nil {
		t.accounts.leave(a)
	} else {
		began := monotime.Now()
		c.leave = sync.OnceFunc(func() { t.accounts.end(a, began) })
	}
	d.Charge.Keep()
	return c, nil
}

// decideFor decides about a call of an account. An admission is noted before the next call in line asks, which then gives way to other processes.
func (t *Transport) decideFor(ctx context.Context, a *account, r guard.Request) (*guard.Decision, error) {
	d, err := t.guard.Decide(ctx, r)
	if err == nil && d.Allowed {
		t.accounts.start(a, d.Charge != nil)
	}
	return d, err
}

// inLine waits until a call is first of its account and is admitted. It returns a refusal with the reason why it does not wait longer.
func (t *Transport) inLine(ctx context.Context, a *account, r guard.Request, refused *guard.Decision, ends time.Time) (*guard.Decision, error) {
	known := t.accounts.refusal(a, refused, r)
	if wait, _ := knownWait(known); wait > time.Until(ends) {
		return known, context.DeadlineExceeded
	}
	arrived, turn := monotime.Now(), t.accounts.join(a, t.guard.Options().MaxWaiting/2)
	if turn == nil {
		return known, guard.ErrCrowded
	}
	defer t.accounts.quit(a, turn)
	over := time.NewTimer(time.Until(ends))
	defer over.Stop()
	select {
	case <-turn:
	case <-over.C:
		return t.accounts.refusal(a, nil, r), context.DeadlineExceeded
	case <-ctx.Done():
		return t.accounts.refusal(a, nil, r), ctx.Err()
	}
	ask := time.NewTimer(0)
	defer ask.Stop()
	var placeless monotime.Time // since when it awaits a place alone
	for {
		if refused != nil {
			if wait, _ := knownWait(refused); wait > time.Until(ends) {
				return refused, context.DeadlineExceeded
			} else if wait > 0 {
				placeless = 0
			} else if placeless == 0 {
				placeless = monotime.Now()
			}
			ask.Reset(t.accounts.pause(a, refused, arrived, placeless, false))
		}
		for waits := refused != nil; waits; {
			select {
			case <-ask.C:
				waits = false
			case <-a.ended: // fewer calls are under way, so it asks earlier
				if placeless != 0 {
					ask.Reset(t.accounts.pause(a, refused, arrived, placeless, true))
				}
			case <-over.C:
				return t.accounts.refusal(a, nil, r), context.DeadlineExceeded
			case <-ctx.Done():
				return t.accounts.refusal(a, nil, r), ctx.Err()
			}
		}
		d, err := t.decideFor(ctx, a, r)
		if err != nil || d.Allowed || d.RetryAfter == 0 {
			return d, err
		}
		refused = t.accounts.refusal(a, d, r)
	}
}

// Pause lets no process call with an account of an upstream for some time, at most [MaxPause]: what the upstream asked for. It never shortens a pause.
// All processes see it with their next decision. subject is the account, such as Decision.Subject. It returns within the policy's timeout.
// Without Redis, the pause holds in this process alone, and for at most [guard.Options.CacheTTL].
func (t *Transport) Pause(ctx context.Context, subject string, d time.Duration) error {
	if _, ok := t.guard.Policy().UpstreamOf(subject); !ok {
		return &fcall.ArgumentError{Function: "outbound.pause", Name: "subject", Must: "be an account of an upstream", Got: fmt.Sprintf("%q", subject)}
	}
	return t.guard.Block(ctx, subject, min(d, MaxPause), "the upstream asked for a pause")
}

// accounts are the accounts of upstreams that calls of this process use now.
type accounts struct {
	mu sync.Mutex
	of map[string]*account
}

// An account orders the calls of this process with an account.
type account struct {
	subject string
	calls   int // that wait, are decided, or have not ended
	running int // that have not ended, and hold something
	line    []chan struct{}
	ended   chan struct{}   // has an element after a call ended
	took    time.Duration   // by a call, on average of the last
	granted monotime.Time   // when a call was last admitted
	refused *guard.Decision // the last refusal
	at      monotime.Time   // of it
}

// enter adds a call. It reports whether no other waits, and at most as many as given are decided: what goes beyond Options.MaxInFlight would be decided
// without Redis.
func (as *accounts) enter(subject string, most int) (a *account, first bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	a = as.of[subject]
	if a == nil {
		a = &account{subject: subject}
		if as.of == nil {
			as.of = map[string]*account{}
		}
		as.of[subject] = a
	}
	a.calls++
	return a, len(a.line) == 0 && a.calls-a.running <= max(most, 1)
}

// leave removes a call.
func (as *accounts) leave(a *account) {
	as.mu.Lock()
	defer as.mu.Unlock()
	as.remove(a)
}

func (as *accounts) remove(a *account) {
	if a.calls--; a.calls == 0 {
		delete(as.of, a.subject)
	}
}

// start notes that a call was admitted, and whether it holds something until end.
func (as *accounts) start(a *account, holds bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	a.granted = monotime.Now()
	if holds {
		a.running++
	}
}

// end removes a call that held something.
func (as *accounts) end(a *account, began monotime.Time) {
	as.mu.Lock()
	defer as.mu.Unlock()
	a.took += (monotime.Now().Since(began) - a.took) / 8
	a.running--
	select {
	case a.ended <- struct{}{}:
	default:
	}
	as.remove(a)
}

// join appends a call to the line. It returns a channel that is closed when the call is the first, or nil if so many wait already.
func (as *accounts) join(a *account, most int) (turn chan struct{}) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if len(a.line) >= most {
		return nil
	}
	turn = make(chan struct{})
	if a.ended == nil {
		a.ended = make(chan struct{}, 1)
	}
	if a.line = append(a.line, turn); len(a.line) == 1 {
		close(turn)
	}
	return turn
}

// quit removes a call from the line, and lets the next one ask if it was the first.
func (as *accounts) quit(a *account, turn chan struct{}) {
	as.mu.Lock()
	defer as.mu.Unlock()
	i := slices.Index(a.line, turn)
	a.line = slices.Delete(a.line, i, i+1)
	if i == 0 && len(a.line) > 0 {
		close(a.line[0])
	}
}

// refusal stores a refusal, and returns the last one with the wait that is left of it, for another call.
func (as *accounts) refusal(a *account, d *guard.Decision, r guard.Request) *guard.Decision {
	as.mu.Lock()
	defer as.mu.Unlock()
	now := monotime.Now()
	if d != nil {
		a.refused, a.at = d, now
		return d
	}
	last := &guard.Decision{Endpoint: r.Endpoint, Subject: r.Subjects[0], Reason: guard.ReasonLimit}
	if a.refused != nil {
		*last = *a.refused
		last.Limits, last.Budgets = slices.Clone(last.Limits), slices.Clone(last.Budgets)
		age := now.Since(a.at)
		last.RetryAfter = max(last.RetryAfter-age, 0)
		for i := range last.Limits {
			last.Limits[i].RetryAfter = max(last.Limits[i].RetryAfter-age, 0)
		}
		for i := range last.Budgets {
			last.Budgets[i].RetryAfter = max(last.Budgets[i].RetryAfter-age, 0)
		}
	}
	return last
}

// pause returns how long the first call of an account waits before it asks again. The first calls of several processes would ask in the same
// microsecond. So one asks the later, the more recently its process was served.
//
// When a place will be free is not known. So each process polls, the faster the longer ago it was served, but not more often than 50 times in
// the time that it has waited.
func (as *accounts) pause(a *account, refused *guard.Decision, arrived, placeless monotime.Time, freed bool) time.Duration {
	as.mu.Lock()
	defer as.mu.Unlock()
	waited := monotime.Now().Since(cmp.Or(a.granted, arrived))
	wait, interval := knownWait(refused)
	if wait > 0 {
		return wait + share(min(maxLateness, interval/4), interval, interval+wait+waited)
	}
	places := int64(1)
	for i := range refused.Limits {
		if l := &refused.Limits[i]; l.Refuses() {
			places = l.Limit
		}
	}
	interval = max(a.took/time.Duration(places), minPoll)
	if freed && int64(a.running)+1 == places { // all places were this process's, and it is releasing one
		return interval / 10
	}
	poll := 4 * share(share(share(interval, interval, waited), interval, waited), interval, waited)
	poll = min(max(poll, minPoll, monotime.Now().Since(placeless)/50), maxPoll)
	return poll/2 + rand.N(poll)
}

// share returns d times part of whole.
func share(d, part, whole time.Duration) time.Duration {
	return time.Duration(float64(d) * float64(part) / float64(max(whole, 1)))
}

const (
	minPoll     = 5 * time.Millisecond
	maxPoll     = 500 * time.Millisecond
	maxLateness = 50 * time.Millisecond
)

// knownWait returns how long a call is refused by what frees itself, all but limits of kind concurrency, and how long it takes on average until
// that admits another call.
func knownWait(d *guard.Decision) (wait, interval time.Duration) {
	if d.Reason != guard.ReasonLimit && d.Reason != guard.ReasonBudget {
		return d.RetryAfter, time.Second
	}
	for i := range d.Limits {
		if l := &d.Limits[i]; l.Refuses() && l.Kind != policy.Concurrency && l.RetryAfter > wait {
			wait, interval = l.RetryAfter, l.Window/time.Duration(l.Limit)
		}
	}
	limits := wait
	for i := range d.Budgets {
		b := &d.Budgets[i]
		left := b.RetryAfter
		// What others reserved is settled meanwhile, often as less. Who asks later than limits let it may each time come after another process.
		if 0 < b.Window && b.Window <= time.Hour {
			left = min(left, cmp.Or(limits, b.Window/60), time.Second)
		}
		if left > wait {
			wait, interval = left, cmp.Or(b.Window/60, time.Second)
		}
	}
	return wait, interval
}
