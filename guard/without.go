package guard

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
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

// without decides where Redis left some parts, or all, without an answer.
func (g *Guard) without(ctx context.Context, ps *plans, d *Decision, q *question, answers []answer, cause error) error {
	var closed []string
	var local []*part
	var asked []guard.AdmitParams
	for i := range answers {
		if err := answers[i].err; err == nil {
			continue
		} else if !lost(err) {
			return err
		}
		pt := q.parts[i]
		closed = append(closed, pt.failClosed...)
		if pt.local != nil {
			local = append(local, pt.local)
			asked = append(asked, q.call(pt.local))
		}
	}
	g.compose(d, q, answers)
	if !d.Allowed {
		return nil // a refusal that Redis did tell stands
	}
	if len(closed) > 0 {
		return &UnavailableError{Endpoint: d.Endpoint, Closed: closed, Cause: cause}
	}
	d.Cause = cause
	d.Fallback = FallbackOpen
	if len(local) > 0 {
		d.Fallback = FallbackLocal
		ps.decideHere(ctx, d, q.times, local, asked)
	}
	if d.Allowed && len(q.parts[0].budgets) > 0 && d.charge == nil {
		d.charge = &charge{guard: g, subject: d.Subject, reservation: q.params[0].Reservation, estimate: q.params[0].Estimate, absent: true}
		if d.charge.reservation == "" {
			d.charge.reservation = fcall.NewToken()
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
// takes: when Redis answers again, this share starts anew there.
func (ps *plans) decideHere(ctx context.Context, d *Decision, times int64, parts []*part, params []guard.AdmitParams) {
	for i, a := range ps.local.admit(context.WithoutCancel(ctx), params) {
		if a.err != nil { // a weight above this process's share, or a key that is larger than all memory: there is no room here
			d.Allowed, d.Reason = false, ReasonLimit
			d.Cause = errors.Join(d.Cause, a.err)
			continue
		}
		if !a.result.Allowed || d.Allowed {
			d.take(parts[i], times, &a.result)
		}
	}
}
