package guard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A trip asks a backend for the parts of a request, and ends on time whatever the backend does. Its answers are either used by the request or
// late, never both: the trip and the request settle which, by state. What a late answer took has the fate that the request names.
type trip struct {
	guard   *Guard
	asked   *question
	sent    moment
	answers []answer
	done    chan struct{}
	state   atomic.Int32
	fate    chan fate // of a late answer
}

// The states of a trip. The first change decides.
const (
	underway int32 = iota
	answered       // the request uses the answers
	late           // the request went on without them
)

// A fate says whether what a late answer took stays counted.
type fate int

const (
	givenBack fate = iota // the request was turned away
	counted               // the request passed: its counts stay, but it settles a hold of its own
	kept                  // the request was turned away, and its receipt is paid for: a repeat may have passed by it meanwhile
)

// turnedAway is the fate of what a request took that was turned away.
func (q *question) turnedAway() fate {
	if q.receipt() != "" {
		return kept
	}
	return givenBack
}

// start sends the calls; the trip's end is await's business.
func (g *Guard) start(ctx context.Context, q *question) *trip {
	q.sent = now()
	t := &trip{guard: g, asked: q, sent: q.sent, done: make(chan struct{})}
	g.trips.Add(1)
	go t.run(context.WithoutCancel(ctx))
	return t
}

func (t *trip) run(ctx context.Context) {
	defer t.guard.trips.Done()
	answers := t.guard.remote.admit(ctx, t.asked.calls)
	if mixed(answers) {
		t.giveBack(ctx, answers)
	}
	t.answers = answers
	inTime := t.state.CompareAndSwap(underway, answered)
	close(t.done)
	if inTime {
		return
	}
	switch <-t.fate {
	case givenBack:
		if !mixed(answers) {
			t.giveBack(ctx, answers)
		}
	case counted:
		t.forgetReservation(ctx, answers)
	}
}

// forgetReservation cancels what a late answer has reserved for a request that passed without it, where its caller will settle by
// another name: the one that Redis made of its receipt was not known then.
func (t *trip) forgetReservation(ctx context.Context, answers []answer) {
	for i := range answers {
		a, c := &answers[i], &t.asked.calls[i]
		if name := a.result.Reservation; a.err == nil && name != "" && name != c.params.Reservation && !a.result.Duplicate {
			_ = t.guard.Cancel(ctx, t.asked.account, name) // Hooks.Settled reports it; it ends with its hold
		}
	}
}

// timers are stopped, and used again: making one costs more than all else that await does.
var timers = sync.Pool{New: func() any {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}}

// await returns the answers, or nil when the deadline or the context came first; then the caller sends the fate.
func (t *trip) await(ctx context.Context, deadline time.Duration) []answer {
	timer := timers.Get().(*time.Timer)
	timer.Reset(deadline)
	defer func() {
		timer.Stop()
		timers.Put(timer)
	}()
	select {
	case <-t.done:
		return t.answers
	case <-timer.C:
	case <-ctx.Done():
	}
	t.fate = make(chan fate, 1)
	if t.state.CompareAndSwap(underway, late) {
		return nil
	}
	<-t.done
	return t.answers
}

// mixed tells that some parts admitted a request that another one refused.
func mixed(answers []answer) bool {
	admitted, refused := false, false
	for i := range answers {
		a := &answers[i]
		admitted = admitted || a.err == nil && a.result.Allowed
		refused = refused || a.err == nil && !a.result.Allowed
	}
	return admitted && refused
}

// giveBack gives back what the calls that admitted have charged.
func (t *trip) giveBack(ctx context.Context, answers []answer) {
	q := t.asked
	for i := range answers {
		a, c := &answers[i], &q.calls[i]
		if a.err != nil || !a.result.Allowed || a.result.Duplicate && !c.hasGlobal(q.plan) || c.charges() == 0 {
			continue
		}
		err := t.guard.remote.giveBack(ctx, backOf(q.plan, c, &a.result, now().since(t.sent)))
		t.guard.denied.release(string(c.params.Bucket))
		if c.account != nil {
			t.guard.denied.release(q.account)
		}
		for i := range c.rows.all() {
			t.guard.denied.release(q.of[i])
		}
		t.guard.hooks.gaveBack(ctx, string(c.params.Bucket), err)
	}
}

// charges is how many things a call may take.
func (c *call) charges() int {
	n := c.params.Limits.Len() + c.params.Budgets.Len()
	if c.params.Challenge != "" {
		n++
	}
	if c.params.Receipt != "" {
		n++
	}
	return n
}

func (c *call) hasGlobal(pl *plan) bool {
	for i := range c.rows.all() {
		if pl.rows[i].limit.Global {
			return true
		}
	}
	return false
}
