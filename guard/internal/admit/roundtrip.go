package admit

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// Events are the callbacks of a Sender.
type Events struct {
	// Background runs work outside of the request.
	Background func(func())
	// Refunded follows each refund to these subjects.
	Refunded func(ctx context.Context, subject string, subjects []string, err error)
	// Release releases places that a call may have charged.
	Release func(q *plan.Query, c *plan.Call)
	// Cancel cancels a reservation.
	Cancel func(ctx context.Context, subject, reservation string)
}

// ErrBusy means that MaxInFlight queries are already unanswered.
var ErrBusy = errors.New("too many calls are in flight")

// A Sender sends queries to Redis.
type Sender struct {
	Backend
	Events
	MaxInFlight int64 // queries without an answer

	inFlight atomic.Int64
	timers   timers
}

// An Outcome is what happened to a request. It determines which charges of its calls are refunded.
type Outcome int

// The outcomes.
const (
	Refused        Outcome = iota // all charges are refunded
	Passed                        // without the late answers: charges stay, but the reservation is cancelled, because the request has its own
	RefusedButPaid                // charges stay, because a repeat of the receipt may have passed meanwhile
)

// RefusedOutcome returns the outcome of a refused request.
func RefusedOutcome(q *plan.Query) Outcome {
	if q.Receipt() != "" {
		return RefusedButPaid
	}
	return Refused
}

// A RoundTrip is a query that is sent to Redis.
type RoundTrip struct {
	plan.Query
	sender      *Sender
	callContext callContext
	single      [1]Answer
	answers     []Answer       // nil while late
	latePending *fcall.Pending // the late call, if the query has one call
	lateAnswers chan []Answer  // the late answers, if it has several
	onLate      func([]Answer)
}

// Send sends a query and waits for its answers, until the request's context ends or the time is up. Then it returns an error, and the
// answers are late. The caller must call Finish, except after ErrBusy. A call with an error in skipped is not sent and gets that error.
func (s *Sender) Send(ctx context.Context, t *RoundTrip, skipped []error, wait Wait) ([]Answer, error) {
	if s.inFlight.Add(1) > s.MaxInFlight {
		s.inFlight.Add(-1)
		return nil, ErrBusy
	}
	t.Sent = monotime.Now()
	t.sender, t.callContext = s, callContext{ctx, s.timers.after(wait.For, t.Sent), wait.Err}
	if len(t.Calls) == 1 {
		t.sendOne()
	} else {
		t.sendSeveral(skipped)
	}
	if t.latePending == nil && t.lateAnswers == nil {
		s.inFlight.Add(-1)
	}
	if t.answers == nil {
		return nil, s.Explain(t.callContext.DetachErr())
	}
	if Mixed(t.answers) {
		t.refund()
	}
	return t.answers, nil
}

func (t *RoundTrip) sendOne() {
	answer := &t.single[0]
	answer.Result, answer.Err = t.sender.Client.Admit(&t.callContext, t.Calls[0].Params)
	if answer.Err != nil && t.callContext.DetachErr() != nil && abandoned(answer.Err) {
		t.latePending = fcall.Late(answer.Err)
		return
	}
	t.answers = t.single[:]
}

// abandoned reports whether a call ended because its request stopped waiting.
func abandoned(err error) bool {
	return errors.Is(err, ErrTimeout) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func (t *RoundTrip) sendSeveral(skipped []error) {
	answers := make(chan []Answer, 1)
	t.sender.Background(func() { answers <- t.sender.admitPipelined(t.context(), t.Calls, skipped) })
	one, other := t.callContext.Detached()
	select {
	case t.answers = <-answers:
		return
	case <-one:
	case <-other:
	}
	select {
	case t.answers = <-answers: // an answer in time wins over the end of the wait
	default:
		t.lateAnswers = answers
	}
}

// OnLate makes Finish pass the late answers to f when they come. It reports false if there is nothing to come.
func (t *RoundTrip) OnLate(f func([]Answer)) bool {
	t.onLate = f
	return t.latePending != nil || t.lateAnswers != nil
}

// Finish reports the outcome of the request, which decides what happens to the charges of its calls, including late ones.
func (t *RoundTrip) Finish(outcome Outcome) {
	switch {
	case t.answers != nil:
		mixed := Mixed(t.answers) // its charges are refunded
		if outcome == Refused && !mixed {
			t.refund()
		}
		t.releaseStrays(outcome == Refused || mixed)
	case t.latePending != nil || t.lateAnswers != nil:
		t.sender.Background(func() { t.finishLate(outcome) })
	}
}

// finishLate waits for the late answers and applies the outcome.
func (t *RoundTrip) finishLate(outcome Outcome) {
	defer t.sender.inFlight.Add(-1)
	if t.lateAnswers != nil {
		t.answers = <-t.lateAnswers
	} else {
		t.latePending.Wait()
		t.answers = t.single[:]
		t.single[0].Result, t.single[0].Err = guard.PendingAdmit{Pending: t.latePending}.Result()
	}
	if t.onLate != nil {
		t.onLate(t.answers)
	}
	refunded := Mixed(t.answers) || outcome == Refused
	switch {
	case refunded:
		t.refundNow()
	case outcome == Passed:
		t.cancelReservations()
	}
	t.releaseStrays(refunded)
}

// releaseStrays releases the places of a request that does not have them: calls charged them and are not refunded, or may have, because
// their outcome is unknown.
func (t *RoundTrip) releaseStrays(refunded bool) {
	for i := range t.answers {
		if a := &t.answers[i]; a.Err == nil && a.Result.Allowed && !refunded || MayHaveRun(a.Err) {
			t.sender.Release(&t.Query, &t.Calls[i])
		}
	}
}

// MayHaveRun reports whether a call failed and Redis may have run it.
func MayHaveRun(err error) bool {
	return errors.Is(err, fcall.ErrOutcomeUnknown) || errors.Is(err, fcall.ErrReply) || abandoned(err)
}

// cancelReservations cancels late reservations of a request that passed without them. Redis named them after the receipt, but the caller
// settles by a name of its own.
func (t *RoundTrip) cancelReservations() {
	for i := range t.answers {
		a, c := &t.answers[i], &t.Calls[i]
		if name := a.Result.Reservation; a.Err == nil && name != "" && name != c.Params.Reservation && !a.Result.Duplicate {
			t.sender.Cancel(t.context(), t.Query.Account, name) // after an error the reservation expires with its hold
		}
	}
}

func (t *RoundTrip) context() context.Context { return context.WithoutCancel(t.callContext.request) }

func (t *RoundTrip) refund() { t.sender.Background(t.refundNow) }

// refundNow refunds the charges of calls that admitted.
func (t *RoundTrip) refundNow() {
	q := &t.Query
	for i := range t.answers {
		a, c := &t.answers[i], &q.Calls[i]
		if a.Err != nil || !a.Result.Allowed || chargesNothing(q, c, &a.Result) {
			continue
		}
		refund, _ := refundCall(q, c, &a.Result, t.sender.Share)
		_, err := t.sender.Client.Refund(t.context(), refund)
		subjects := []string{string(c.Params.Subject)}
		if c.Account != nil {
			subjects = append(subjects, q.Account)
		}
		for i := range c.Limits.Rows.All() {
			subjects = append(subjects, q.RowSubjects[i])
		}
		t.sender.Refunded(t.context(), string(c.Params.Subject), subjects, err)
	}
}

// Refund refunds some rows of an admitted request. Its attempt, receipt and budgets stay charged.
func (b *Backend) Refund(ctx context.Context, q *plan.Query, answers []Answer, rows plan.RowSet, refunded func(subject string, subjects []string, err error)) {
	for n := range q.Calls {
		c, a := &q.Calls[n], &answers[n]
		if a.Err != nil {
			continue
		}
		refund, limits := refundRows(q, c, &a.Result, rows, b.Share)
		if len(limits) == 0 {
			continue
		}
		_, err := b.Client.Refund(ctx, refund)
		subjects := []string{string(refund.Subject)}
		for _, s := range refund.LimitsOf {
			subjects = append(subjects, string(s))
		}
		refunded(string(refund.Subject), subjects, err)
	}
}
