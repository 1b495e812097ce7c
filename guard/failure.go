package guard

import (
	"context"
	"errors"
	"fmt"
	"strings"

	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/decide"
)

// Causes of a fallback and of an [UnavailableError], besides the errors of package fcall.
var (
	// ErrTimeout means that Redis did not answer within the policy's timeout.
	ErrTimeout = decide.ErrTimeout
	// ErrBreaker means that the circuit breaker of the node is open.
	ErrBreaker = decide.ErrBreaker
	// ErrBusy means that Options.MaxInFlight calls were already unanswered.
	ErrBusy = decide.ErrBusy
)

// ErrUnavailable means that failure mode closed rejected the request. The error is an [*UnavailableError].
var ErrUnavailable = errors.New("limit not decided")

// An UnavailableError rejects a request because Redis did not decide a limit whose failure mode is closed. It is not a refusal: the limit
// may have had room.
type UnavailableError struct {
	Endpoint string
	Closed   []string // names of limits, budgets and blocks, and "challenge"
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

// applyFailureModes applies failure modes to the calls that Redis left undecided.
func (g *Guard) applyFailureModes(ctx context.Context, d *Decision, q *decide.Query, cause error) error {
	verdict := decide.ApplyFailureModes(q)
	g.compose(d, q)
	if d.Allowed && q.Endpoint.Params.ChallengeRequired && (q.Request.Challenge == "" || q.Challenge == "") {
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
	return nil
}

// decideLocally asks the embedded engine for this process's share. The engine answers at once, so it gets a context without end, which
// saves a goroutine. Redis does not learn of these charges.
func (g *Guard) decideLocally(ctx context.Context, d *Decision, undecided *decide.Query, part decide.LocalPart) {
	q := undecided.Local(part, decide.Share{Local: true, Processes: g.hooks.processes()})
	q.Run(context.WithoutCancel(ctx), g.local.Load())
	for i := range q.Calls {
		c := &q.Calls[i]
		if c.Err != nil { // the weight exceeds this process's share, or one key exceeds its memory
			d.Allowed, d.Reason = false, ReasonLimit
			d.Cause = errors.Join(d.Cause, c.Err)
			break
		}
		d.addCall(q, c)
	}
	d.addLimits(q)
	d.adjustPlaceWait()
	d.addBudgets(q)
	if d.Allowed {
		g.hold(d, q, &g.localPlaces)
		return
	}
	for i := range q.Calls {
		if c := &q.Calls[i]; c.Err == nil && c.Result.Allowed {
			if p, ok := q.Places(c); ok {
				g.localPlaces.Hold(p, q.Sent, func() {}).Release()
			}
		}
	}
}
