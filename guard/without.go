package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/ask"
	"github.com/rlfunc/rlfunc/guard/internal/fallback"
	"github.com/rlfunc/rlfunc/guard/internal/moment"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// Why there is no answer of Redis: causes of a fallback and of an [UnavailableError], beside what package fcall says of a call.
var (
	// ErrTimeout is an answer that did not come within the policy's timeout.
	ErrTimeout = ask.ErrTimeout
	// ErrBreaker is a node of Redis that is left alone for a while, as too many of its calls were lost.
	ErrBreaker = fallback.ErrBreaker
	// ErrBusy is a request that Redis was not asked about, as Options.MostUnderway calls have no answer yet.
	ErrBusy = ask.ErrBusy
)

// ErrUnavailable is a request that is refused because a closed limit could not be decided. [*UnavailableError] says which.
var ErrUnavailable = errors.New("limit cannot be decided")

// An UnavailableError is a request that a closed limit turns away while Redis does not answer. It is no refusal: whether there was room
// is not known.
type UnavailableError struct {
	Endpoint string
	Closed   []string // the limits, and "cost", "abuse", "challenge"
	Cause    error
}

// Error says what could not be decided, and why.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("decide %s: %s cannot be decided: %v", e.Endpoint, strings.Join(e.Closed, ", "), e.Cause)
}

// Is reports whether target is ErrUnavailable.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Cause }

// worst returns an error that says nothing of the request, and the first of all.
func worst(answers []ask.Answer) (undecided, failed error) {
	for i := range answers {
		switch err := answers[i].Err; {
		case err == nil:
		case fallback.Undecided(err):
			return err, err
		case failed == nil:
			failed = err
		}
	}
	return nil, failed
}

// without decides where Redis left some calls, or all, without an answer.
func (g *Guard) without(ctx context.Context, ps *plan.Plans, d *Decision, q *plan.Question, answers []ask.Answer, cause error) error {
	v := fallback.Contract(q, answers)
	if v.Err != nil {
		return v.Err
	}
	g.compose(d, q, answers)
	if d.Allowed && q.Plan.Params.ChallengeRequired && (q.Request.Challenge == "" || q.Challenge == "") {
		d.Allowed, d.Reason, d.Challenge, d.Refused = false, ReasonChallenge, string(genguard.AdmitChallengeAbsent), q.Challenge // which needs no Redis
	}
	if !d.Allowed {
		return nil // a refusal that Redis did answer stands
	}
	g.warn(noticeWithout, "deciding without Redis", "endpoint", d.Endpoint, "closed", v.Closed, "local", v.Alone.Any(), "cause", cause)
	if len(v.Closed) > 0 {
		return &UnavailableError{Endpoint: d.Endpoint, Closed: v.Closed, Cause: cause}
	}
	d.Cause = cause
	d.Fallback = FallbackOpen
	if v.Alone.Any() {
		d.Fallback = FallbackLocal
		g.decideHere(ctx, d, q, v.Alone)
	}
	if d.Allowed && q.Account != "" && d.charge == nil {
		d.charge = g.chargeWithout(q)
	}
	return nil
}

// decideHere asks the engine in this process, which answers at once: a context that may end would cost a goroutine. It keeps what it
// takes: when Redis answers again, this share is fresh there.
func (g *Guard) decideHere(ctx context.Context, d *Decision, asked *plan.Question, alone plan.Alone) {
	here := &ask.Backend{Client: g.local.Load(), Share: plan.Share{Here: true, Processes: g.hooks.processes()}}
	q := asked.Alone(alone, here.Share)
	q.Sent = moment.Now()
	answers := here.Admit(context.WithoutCancel(ctx), q.Calls, nil)
	for i := range answers {
		if err := answers[i].Err; err != nil { // a weight above this process's share, or a key that is larger than all memory: there is no room here
			d.Allowed, d.Reason = false, ReasonLimit
			d.Cause = errors.Join(d.Cause, err)
			return
		}
		d.take(q, &q.Calls[i], &answers[i].Result)
	}
	d.takeLimits(q, answers)
	if d.Allowed && q.Plan.Counting {
		d.counting = &counting{guard: g, backend: here, question: q, answers: answers, next: d.counting}
	}
	if account := q.Calls[0].Account; account != nil {
		d.takeBudgets(account, &answers[0].Result)
	}
}

// chargeWithout is the reservation of a request that passes without Redis: it can be settled there later.
func (g *Guard) chargeWithout(q *plan.Question) *charge {
	for i := range q.Calls {
		if c := &q.Calls[i]; c.Account != nil {
			return &charge{
				guard: g, subject: q.Account, reservation: cmp.Or(c.Params.Reservation, fcall.NewToken()), estimate: c.Params.Estimate, budgets: c.Account.Settling,
				absent: true,
			}
		}
	}
	return nil
}
