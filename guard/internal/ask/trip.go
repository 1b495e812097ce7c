package ask

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/moment"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// Events are what an Asker tells of.
type Events struct {
	// Behind does work behind a request, and is waited for in the end.
	Behind func(func())
	// GaveBack follows each call that gives something back to these subjects.
	GaveBack func(ctx context.Context, subject string, subjects []string, err error)
	// Cancel cancels a reservation.
	Cancel func(ctx context.Context, subject, reservation string)
}

// ErrBusy is a question that Redis was not asked, as too many have no answer yet.
var ErrBusy = errors.New("too many calls are under way")

// An Asker asks Redis.
type Asker struct {
	Backend
	Events
	Most int64 // questions without an answer, at once

	underway atomic.Int64
	clock    clock
}

// A Fate says whether what the calls of a request took stays counted.
type Fate int

// The fates.
const (
	GivenBack Fate = iota // the request was turned away
	Counted               // the request passed: its counts stay, but it settles a reservation of its own
	Kept                  // the request was turned away, and its receipt is paid for: a repeat may have passed by it meanwhile
)

// TurnedAway is the fate of what a request took that was turned away.
func TurnedAway(q *plan.Question) Fate {
	if q.Receipt() != "" {
		return Kept
	}
	return GivenBack
}

// A Trip is a question on its way.
type Trip struct {
	plan.Question
	asker    *Asker
	patience patience
	room     [1]Answer
	answers  []Answer       // nil while they are late
	late     *fcall.Pending // the one call that is
	behind   chan []Answer  // of several that are
}

// Ask asks, and waits until the answers are there, the request's context ends, or its time is up. Then there are no answers, but
// an error. Unless that is ErrBusy, the caller tells End what becomes of the request. A call that is left out is not made, and has
// that error.
func (a *Asker) Ask(ctx context.Context, t *Trip, leftOut []error, within time.Duration) ([]Answer, error) {
	if a.underway.Add(1) > a.Most {
		a.underway.Add(-1)
		return nil, ErrBusy
	}
	t.Sent = moment.Now()
	t.asker, t.patience = a, patience{ctx, a.clock.in(within, t.Sent)}
	if len(t.Calls) == 1 {
		t.one()
	} else {
		t.several(leftOut)
	}
	if t.late == nil && t.behind == nil {
		a.underway.Add(-1)
	}
	if t.answers == nil {
		return nil, t.patience.Left()
	}
	if Mixed(t.answers) {
		t.giveBack()
	}
	return t.answers, nil
}

func (t *Trip) one() {
	answer := &t.room[0]
	answer.Result, answer.Err = t.asker.Client.Admit(&t.patience, t.Calls[0].Params)
	if answer.Err != nil && t.patience.Left() != nil && gone(answer.Err) {
		t.late = fcall.Late(answer.Err)
		return
	}
	t.answers = t.room[:]
}

// gone reports whether a call ended as its request had left it, whatever came first.
func gone(err error) bool {
	return errors.Is(err, ErrTimeout) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func (t *Trip) several(leftOut []error) {
	answers := make(chan []Answer, 1)
	t.asker.Behind(func() { answers <- t.asker.together(t.context(), t.Calls, leftOut) })
	one, other := t.patience.Leave()
	select {
	case t.answers = <-answers:
		return
	case <-one:
	case <-other:
	}
	select {
	case t.answers = <-answers: // they are worth more than the end of the wait
	default:
		t.behind = answers
	}
}

// End says what becomes of what the calls took, also of those that are late.
func (t *Trip) End(fate Fate) {
	switch {
	case t.answers != nil:
		if fate == GivenBack && !Mixed(t.answers) {
			t.giveBack()
		}
	case t.late != nil || t.behind != nil:
		t.asker.Behind(func() { t.arrive(fate) })
	}
}

// arrive gives late answers their fate.
func (t *Trip) arrive(fate Fate) {
	defer t.asker.underway.Add(-1)
	if t.behind != nil {
		t.answers = <-t.behind
	} else {
		t.late.Wait()
		t.answers = t.room[:]
		t.room[0].Result, t.room[0].Err = guard.PendingAdmit{Pending: t.late}.Result()
	}
	switch {
	case Mixed(t.answers) || fate == GivenBack:
		t.giveBackNow()
	case fate == Counted:
		t.forgetReservation()
	}
}

// forgetReservation cancels what a late answer has reserved for a request that passed without it, where its caller will settle by
// another name: the one that Redis made of its receipt was not known then.
func (t *Trip) forgetReservation() {
	for i := range t.answers {
		a, c := &t.answers[i], &t.Calls[i]
		if name := a.Result.Reservation; a.Err == nil && name != "" && name != c.Params.Reservation && !a.Result.Duplicate {
			t.asker.Cancel(t.context(), t.Question.Account, name) // it ends with its hold
		}
	}
}

func (t *Trip) context() context.Context { return context.WithoutCancel(t.patience.request) }

func (t *Trip) giveBack() { t.asker.Behind(t.giveBackNow) }

// giveBackNow gives back what the calls that admitted have taken.
func (t *Trip) giveBackNow() {
	q := &t.Question
	for i := range t.answers {
		a, c := &t.answers[i], &q.Calls[i]
		if a.Err != nil || !a.Result.Allowed || takesNothing(q, c, &a.Result) {
			continue
		}
		_, err := t.asker.Client.GiveBack(t.context(), back(q, c, &a.Result))
		subjects := []string{string(c.Params.Bucket)}
		if c.Account != nil {
			subjects = append(subjects, q.Account)
		}
		for i := range c.Limits.Rows.All() {
			subjects = append(subjects, q.Of[i])
		}
		t.asker.GaveBack(t.context(), string(c.Params.Bucket), subjects, err)
	}
}

// GiveBack gives back what an admitted request took of some rows; its attempt, receipt and budgets stay.
func (b *Backend) GiveBack(ctx context.Context, q *plan.Question, answers []Answer, rows plan.RowSet, told func(subject string, subjects []string, err error)) {
	for n := range q.Calls {
		c, a := &q.Calls[n], &answers[n]
		if a.Err != nil {
			continue
		}
		back, any := backOfRows(q, c, &a.Result, rows, b.Share)
		if !any {
			continue
		}
		_, err := b.Client.GiveBack(ctx, back)
		subjects := []string{string(back.Bucket)}
		for _, s := range back.LimitsOf {
			subjects = append(subjects, string(s))
		}
		told(string(back.Bucket), subjects, err)
	}
}
