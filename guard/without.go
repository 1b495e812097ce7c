package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// ErrUnavailable is a request that is refused because a closed limit could not be decided. [*UnavailableError] says which.
var ErrUnavailable = errors.New("limit can not be decided")

// An UnavailableError is a request that a closed limit turns away while Redis does not answer. It is no refusal: nobody knows
// whether there was room.
type UnavailableError struct {
	Endpoint string
	Closed   []string // the limits, and "cost", "abuse", "challenge"
	Cause    error
}

// Error says what could not be decided, and why.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("decide %s: %s can not be decided: %v", e.Endpoint, strings.Join(e.Closed, ", "), e.Cause)
}

// Is tells that this is an ErrUnavailable.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Cause }

// without decides where Redis left some calls, or all, without an answer.
func (g *Guard) without(ctx context.Context, ps *plans, d *Decision, q *question, answers []answer, cause error) error {
	var closed []string
	var local here
	pl := q.plan
	contract := func(f policy.OnFailure, name string, decideHere func()) {
		switch f {
		case policy.Closed:
			if !slices.Contains(closed, name) {
				closed = append(closed, name)
			}
		case policy.Local:
			decideHere()
		}
	}
	for i := range answers {
		if err := answers[i].err; err == nil {
			continue
		} else if !lost(err) {
			return err
		}
		c := &q.calls[i]
		for n := range c.rows.all() {
			contract(pl.rows[n].onFailure, pl.rows[n].state.Name, func() { local.rows |= 1 << n })
		}
		if c.account != nil {
			contract(pl.onCost, "cost", func() { local.account = true })
		}
		if !c.onlyGlobal() {
			contract(pl.onAbuse, "abuse", func() { local.blocks = true; local.attempts = local.attempts || c.params.Tiers.Len() > 0 })
		}
		if c.challenge {
			contract(pl.onChallenge, "challenge", func() {})
		}
	}
	g.compose(d, q, answers)
	if d.Allowed && pl.params.ChallengeRequired && (q.request.Challenge == "" || q.challenge == "") {
		d.Allowed, d.Reason, d.Challenge, d.Refused = false, ReasonChallenge, string(guard.AdmitChallengeAbsent), q.challenge // which needs no Redis
	}
	if !d.Allowed {
		return nil // a refusal that Redis did answer stands
	}
	g.warn(noticeWithout, "deciding without Redis", "endpoint", d.Endpoint, "closed", closed, "local", local.any(), "cause", cause)
	if len(closed) > 0 {
		return &UnavailableError{Endpoint: d.Endpoint, Closed: closed, Cause: cause}
	}
	d.Cause = cause
	d.Fallback = FallbackOpen
	if local.any() {
		d.Fallback = FallbackLocal
		g.decideHere(ctx, ps.local, d, q.here(local))
	}
	if d.Allowed && q.account != "" && d.charge == nil {
		d.charge = q.chargeWithout(g)
	}
	return nil
}

// here is what this process decides alone.
type here struct {
	rows                      rowSet
	account, attempts, blocks bool
}

func (h here) any() bool { return h.rows != 0 || h.account || h.attempts || h.blocks }

// here is the question to the engine in this process.
func (q *question) here(h here) *question {
	alone := &question{plan: q.plan, request: q.request, resolved: q.resolved}
	alone.resolved.rows = h.rows
	c := &alone.one[0]
	alone.calls = alone.one[:]
	if h.attempts {
		c.params = q.plan.params
	}
	c.params.ChallengeRequired = false
	c.params.Bucket = fcall.Subject(q.bucket())
	alone.put(c, h.rows, true)
	if h.account {
		c.params.Hold, c.params.Penalty = q.plan.params.Hold, q.plan.params.Penalty
		alone.putAccount(c, true)
		for i := range q.calls {
			if q.calls[i].account != nil {
				c.params.Reservation = q.calls[i].params.Reservation
			}
		}
	}
	alone.putReceipt(c, q.client)
	alone.spill(true)
	return alone
}

// onlyGlobal reports whether a call is about global limits alone.
func (c *call) onlyGlobal() bool {
	return strings.HasPrefix(string(c.params.Bucket), policy.GlobalPrefix)
}

// chargeWithout is the reservation of a request that passes without Redis: it can be settled there later.
func (q *question) chargeWithout(g *Guard) *charge {
	for i := range q.calls {
		if c := &q.calls[i]; c.account != nil {
			return &charge{
				guard: g, subject: q.account, reservation: cmp.Or(c.params.Reservation, fcall.NewToken()), estimate: c.params.Estimate, absent: true,
			}
		}
	}
	return nil
}

// unanswered are answers that did not come.
func unanswered(n int, cause error) []answer {
	answers := make([]answer, n)
	for i := range answers {
		answers[i].err = cause
	}
	return answers
}

// decideHere asks the engine in this process, which answers at once: a context that may end would cost a goroutine. It keeps what it
// takes: when Redis answers again, this share is fresh there.
func (g *Guard) decideHere(ctx context.Context, local backend, d *Decision, q *question) {
	q.sent = now()
	answers := local.admit(context.WithoutCancel(ctx), q.calls)
	for i := range answers {
		if err := answers[i].err; err != nil { // a weight above this process's share, or a key that is larger than all memory: there is no room here
			d.Allowed, d.Reason = false, ReasonLimit
			d.Cause = errors.Join(d.Cause, err)
			return
		}
		d.take(q, &q.calls[i], &answers[i].result)
	}
	d.takeLimits(q, answers)
	if d.Allowed && q.plan.counting {
		d.counting = &counting{guard: g, backend: local, asked: q, answers: answers, next: d.counting}
	}
	if q.calls[0].account != nil {
		d.takeBudgets(q.calls[0].account, &answers[0].result)
	}
}
