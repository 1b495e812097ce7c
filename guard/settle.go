package guard

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
)

// Settled is the end of a reservation in the budgets of one subject and unit. If Err is not nil, the estimate counts until its hold ends, or the
// budgets lack what Guard.Record records.
type Settled struct {
	Subject     string
	Unit        string // "" for money
	Reservation string // "" of what Guard.Record records
	// Estimate is the reserved amount, and Actual the actual cost: 0 if nothing was spent. They are millionths, also of a unit.
	Estimate, Actual fcall.Micros
	// Outcome is the result of library guard: settled, repeated or unknown.
	Outcome string
	// Unknown is why Actual is the estimate although a response could have told; "" otherwise.
	Unknown Unknown
	Err     error
}

// Amounts are what a request costs in money and in other units.
type Amounts struct {
	Money fcall.Micros `json:",omitempty"`
	Units []Amount     `json:",omitempty"`
}

// of returns the amount in a unit, in millionths.
func (a Amounts) of(unit string) fcall.Micros {
	if unit == "" {
		return a.Money
	}
	for _, u := range a.Units {
		if u.Unit == unit {
			return millionths(unit, fcall.Micros(u.N))
		}
	}
	return 0
}

// Most returns the greater one of each, in the units of b.
func (a Amounts) Most(b Amounts) Amounts {
	b.Money, b.Units = max(a.Money, b.Money), slices.Clone(b.Units)
	for i := range b.Units {
		for _, u := range a.Units {
			if u.Unit == b.Units[i].Unit {
				b.Units[i].N = max(b.Units[i].N, u.N)
			}
		}
	}
	return b
}

// any reports whether one is above 0.
func (a Amounts) any() bool {
	return a.Money > 0 || slices.ContainsFunc(a.Units, func(u Amount) bool { return u.N > 0 })
}

// none returns 0 of each.
func (a Amounts) none() (none Amounts) {
	for _, u := range a.Units {
		none.Units = append(none.Units, Amount{Unit: u.Unit})
	}
	return none
}

var errPanic = errors.New("guard: a panic, which the log has")

var errNoReservation = &fcall.ArgumentError{Function: "guard.settle", Name: "charge", Must: "have a reservation", Got: "none"}

// Reserved returns what the request reserved of its budgets, in money and in each other unit of its endpoint's budgets; 0 if nothing. A repeat of a
// receipt reserves what it costs more than before.
func (c *Charge) Reserved() Amounts { return c.load().own() }

// own returns what the request itself reserved: the most in any account.
func (h *held) own() (all Amounts) {
	if h != nil {
		for i := range h.reservations {
			all = all.Most(h.reservations[i].Reserved)
		}
	}
	return all
}

// Accounts returns the subjects whose budgets have a reservation of the request, for example "org=acme" and "user=42"; none if it has none.
func (c *Charge) Accounts() (subjects []string) {
	if h := c.load(); h != nil {
		for i := range h.reservations {
			for _, b := range h.reservations[i].Budgets {
				if !slices.Contains(subjects, string(b.Of)) {
					subjects = append(subjects, string(b.Of))
				}
			}
		}
	}
	return subjects
}

// Settle replaces the reserved estimates by the actual cost in all budgets, once; 0 refunds an estimate, because nothing was spent. A unit that
// is not given is settled as it was reserved; a unit that the request did not reserve is an error that wraps fcall.ErrArgument, and then
// nothing is settled. A second call does nothing, and the end of ctx does not stop a settlement, only its deadline. A cost above a budget is recorded in full. After an error the estimates stay counted until
// their hold ends, and the caller may retry.
//
// A repeat of a receipt has a reservation of its own: what it costs more than its first request reserved. What it settles was spent again, and is
// recorded in full.
func (c *Charge) Settle(ctx context.Context, actual fcall.Micros, units ...Amount) error {
	h := c.load()
	if h == nil || len(h.reservations) == 0 {
		return errNoReservation
	}
	all, err := inUnits("guard.settle", h.own().Units, units)
	if err != nil {
		return err
	}
	// What was spent is spent, although the client may have hung up.
	within := finishWithin
	if due, ok := ctx.Deadline(); ok {
		within = time.Until(due)
	}
	settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	return h.settle(settling, &Amounts{actual, all}, true, "")
}

// settle settles the reservations at what was spent, or at their estimates if actual is nil; those of a repeat that reserved nothing if free.
func (h *held) settle(ctx context.Context, actual *Amounts, free bool, unknown Unknown) error {
	if !h.settled.CompareAndSwap(false, true) {
		return nil
	}
	errs := make([]error, len(h.reservations))
	var calls sync.WaitGroup
	for i := range h.reservations {
		r := &h.reservations[i]
		if r.Free && !free {
			continue
		}
		spent := cmp.Or(actual, &r.Reserved)
		errs[i] = errPanic
		settle := func() { _, errs[i] = h.guard.settle(ctx, &r.callReservation, &r.Reserved, *spent, unknown) }
		if len(h.reservations) == 1 {
			settle()
			break
		}
		calls.Go(h.guard.surviving(settle))
	}
	calls.Wait()
	err := errors.Join(errs...)
	if err != nil {
		h.unrecorded.Store(actual)
		h.settled.Store(false)
	}
	return err
}

// settle settles what one call reserved; nil if it reserved nothing. It reports whether a budget is exceeded then.
func (g *Guard) settle(ctx context.Context, r *callReservation, reserved *Amounts, actual Amounts, unknown Unknown) (exceeded bool, err error) {
	result, err := r.settle(ctx, g.asker.client, actual.Money, actual.Units)
	var done []Settled
	for i := range r.Budgets {
		subject, unit := r.Budgets[i].Of, r.Budgets[i].Unit
		if slices.ContainsFunc(done, func(s Settled) bool { return s.Subject == string(subject) && s.Unit == unit }) {
			continue
		}
		s := Settled{Subject: string(subject), Unit: unit, Actual: actual.of(unit), Outcome: string(result.Outcome), Unknown: unknown, Err: err}
		if reserved != nil {
			s.Reservation, s.Estimate = r.Params.Reservation, reserved.of(unit)
		}
		done = append(done, s)
		g.refusals.Invalidate(s.Subject) // after an error too: the call may have run
		g.observe(ctx, s)
	}
	return result.Exceeded, err
}

// Record records what a request has spent of units in which it reserved nothing, as one with Request.Unreserved: r.Units, in full, in all budgets of
// r.Endpoint and r.Subjects that have these units. It reports whether one is exceeded then. Each call records, so a repeat counts again. A call
// that has begun does not end with ctx, but after 5 s. After an error, some or all of the budgets lack what was spent. [Settled] reports it.
func (g *Guard) Record(ctx context.Context, r Request) (exceeded bool, err error) {
	r = r.clone() // a call that goes on after Record needs its slices
	spent, err := g.spent(&r)
	if err != nil {
		for _, a := range r.Units {
			g.observe(ctx, Settled{Subject: cmp.Or(r.Subjects...), Unit: a.Unit, Actual: millionths(a.Unit, fcall.Micros(a.N)), Err: err})
		}
		return false, err
	}
	done := make(chan func() (bool, error), 1)
	g.finish(ctx, func(ctx context.Context) {
		exceeded, err := g.record(ctx, &r, spent(g.split.Load()))
		if isCrossSlot(err) {
			g.split.Store(true)
			exceeded, err = g.record(ctx, &r, spent(true))
		}
		done <- func() (bool, error) { return exceeded, err }
	})
	select {
	case result := <-done:
		return result()
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// spent returns the reservations that record what a request has spent, none if an override exempts it.
func (g *Guard) spent(r *Request) (func(split bool) []callReservation, error) {
	snapshot, plan, err := g.snapshot.Load().plan(r)
	if err != nil {
		return nil, err
	}
	var resolved whom
	var d Decision
	overrides := snapshot.current()
	if err := snapshot.resolve(&resolved, plan, r, overrides); err != nil {
		return nil, err
	}
	return func(split bool) []callReservation {
		if overridden(overrides, &d, r) && d.Allowed {
			return nil
		}
		return spentReservations(plan, r, &resolved, split)
	}, nil
}

func (g *Guard) record(ctx context.Context, r *Request, spent []callReservation) (exceeded bool, err error) {
	actual := Amounts{Units: r.Units}
	for i := range spent {
		over, failed := g.settle(ctx, &spent[i], nil, actual, "")
		exceeded, err = exceeded || over, errors.Join(err, failed)
	}
	return exceeded, err
}

// settleAtEnd settles a reservation that was not settled, in the background. A repeat of a receipt that reserved nothing answers as before, and is
// not settled.
func (h *held) settleAtEnd(ctx context.Context, e End) {
	actual, unknown := h.unrecorded.Load(), Unknown("")
	free := actual != nil // a cost that Settle could not record
	pays := func(r reservation) bool { return !r.Free }
	switch {
	case h.settled.Load() || !free && !slices.ContainsFunc(h.reservations, pays):
		return
	case free:
	case e.Used != nil:
		if units, err := inUnits("guard.end", h.own().Units, e.Used.Units); err == nil {
			actual = &Amounts{e.Used.Money, units}
		} else {
			unknown = UnknownUnits
		}
	case e.Gone:
		none := h.own().none()
		actual = &none
	default:
		unknown = e.Unknown
	}
	h.guard.finish(ctx, func(ctx context.Context) { _ = h.settle(ctx, actual, free, unknown) }) // Settled reports the error
}

// finishWithin limits background work after a request.
const finishWithin = 5 * time.Second

// finish runs work in the background, even if ctx has ended. With an embedded server it is done at once.
func (g *Guard) finish(ctx context.Context, work func(context.Context)) {
	if g.asker.inline {
		work(context.WithoutCancel(ctx))
		return
	}
	g.background(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
		defer cancel()
		work(ctx)
	})
}
