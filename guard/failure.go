package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/admit"
	"github.com/rlfunc/rlfunc/guard/internal/fallback"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// Causes of a fallback and of an [UnavailableError], besides the errors of package fcall.
var (
	// ErrTimeout means that Redis did not answer within the policy's timeout.
	ErrTimeout = admit.ErrTimeout
	// ErrBreaker means that the circuit breaker of the node is open.
	ErrBreaker = fallback.ErrBreaker
	// ErrBusy means that Options.MaxInFlight calls were already unanswered.
	ErrBusy = admit.ErrBusy
)

// ErrUnavailable means that failure mode closed rejected the request. The error is an [*UnavailableError].
var ErrUnavailable = errors.New("limit not decided")

// An UnavailableError rejects a request because Redis did not decide a limit whose failure mode is closed. It is not a refusal: the limit
// may have had room.
type UnavailableError struct {
	Endpoint string
	Closed   []string // names of limits, and "cost", "abuse", "challenge"
	Cause    error
}

// Error returns the undecided limits and the cause.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("decide %s: Redis did not decide %s, and its failure mode is closed: %v", e.Endpoint, strings.Join(e.Closed, ", "), e.Cause)
}

// Is reports whether target is ErrUnavailable.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Cause }

// firstErrors returns the first error that leaves the request undecided, and the first error at all.
func firstErrors(answers []admit.Answer) (undecided, failed error) {
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

// applyFailureMode applies failure modes to the calls that Redis left undecided.
func (g *Guard) applyFailureMode(ctx context.Context, d *Decision, q *plan.Query, answers []admit.Answer, cause error) error {
	verdict := fallback.ApplyFailureModes(q, answers)
	if verdict.Err != nil {
		return verdict.Err
	}
	g.compose(d, q, answers)
	if d.Allowed && q.Plan.Params.ChallengeRequired && (q.Request.Challenge == "" || q.Challenge == "") {
		d.Allowed, d.Reason, d.Challenge, d.Refused = false, ReasonChallenge, string(genguard.AdmitChallengeAbsent), q.Challenge // needs no Redis
	}
	if !d.Allowed {
		return nil // a refusal by Redis stands
	}
	g.warn(noticeFallback, "failure mode applied", "endpoint", d.Endpoint, "closed", verdict.FailClosed, "local", verdict.LocalFallback.Any(), "cause", cause)
	if len(verdict.FailClosed) > 0 {
		return &UnavailableError{Endpoint: d.Endpoint, Closed: verdict.FailClosed, Cause: cause}
	}
	d.Cause = cause
	d.Fallback = FallbackOpen
	if verdict.LocalFallback.Any() {
		d.Fallback = FallbackLocal
		g.decideLocally(ctx, d, q, verdict.LocalFallback)
	}
	if d.Allowed && q.Account != "" && d.charge == nil {
		d.charge = g.fallbackCharge(q)
	}
	return nil
}

// decideLocally asks the embedded engine for this process's share. The engine answers at once, so it gets a context without end, which
// saves a goroutine. Redis does not learn of these charges.
func (g *Guard) decideLocally(ctx context.Context, d *Decision, undecided *plan.Query, part plan.LocalPart) {
	local := &admit.Backend{Client: g.local.Load(), Share: plan.Share{Local: true, Processes: g.hooks.processes()}}
	q := undecided.Local(part, local.Share)
	q.Sent = monotime.Now()
	answers := local.Admit(context.WithoutCancel(ctx), q.Calls, nil)
	defer g.holdLocally(d, q, answers, local.Share)
	for i := range answers {
		if err := answers[i].Err; err != nil { // the weight exceeds this process's share, or one key exceeds its memory
			d.Allowed, d.Reason = false, ReasonLimit
			d.Cause = errors.Join(d.Cause, err)
			return
		}
		d.addCall(q, &q.Calls[i], &answers[i].Result)
	}
	d.addLimits(q, answers)
	d.adjustPlaceWait()
	if d.Allowed && q.Plan.Counting {
		d.pendingResponse = &pendingResponse{guard: g, backend: local, query: q, answers: answers, next: d.pendingResponse}
	}
	if account := q.Calls[0].Account; account != nil {
		d.addBudgets(account, &answers[0].Result)
	}
}

// fallbackCharge returns the reservation of a request that a fallback admits. Redis does not know it, but can settle it later.
func (g *Guard) fallbackCharge(q *plan.Query) *charge {
	for i := range q.Calls {
		if c := &q.Calls[i]; c.Account != nil {
			return &charge{
				guard: g, subject: q.Account, reservation: cmp.Or(c.Params.Reservation, fcall.NewToken()), estimate: c.Params.Estimate, budgets: c.Account.SettleLimits,
				notInRedis: true,
			}
		}
	}
	return nil
}
