package guard

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
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
)

// start sends the calls; the trip's end is await's business.
func (g *Guard) start(ctx context.Context, q *question) *trip {
	t := &trip{guard: g, asked: q, sent: now(), done: make(chan struct{})}
	g.trips.Add(1)
	go t.run(context.WithoutCancel(ctx))
	return t
}

func (t *trip) run(ctx context.Context) {
	defer t.guard.trips.Done()
	answers := t.guard.remote.admit(ctx, t.asked.params)
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
		t.forgetReservation(ctx, &answers[0])
	}
}

// forgetReservation cancels what a late answer has reserved for a request that passed without it, where its caller will settle by
// another name: the one that Redis made of its receipt was not known then.
func (t *trip) forgetReservation(ctx context.Context, a *answer) {
	if name := a.result.Reservation; a.err == nil && name != "" && name != t.asked.params[0].Reservation && !a.result.Duplicate {
		_ = t.guard.Cancel(ctx, string(t.asked.params[0].Bucket), name) // the hooks are told; it ends with its hold
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

// giveBack gives back what the parts that admitted have charged.
func (t *trip) giveBack(ctx context.Context, answers []answer) {
	for i := range answers {
		a, pt, p := &answers[i], t.asked.parts[i], &t.asked.params[i]
		if a.err != nil || !a.result.Allowed || a.result.Duplicate && !hasGlobal(pt) {
			continue
		}
		err := t.guard.remote.giveBack(ctx, backOf(pt, p, &a.result, now().since(t.sent)))
		for _, of := range append([]fcall.Subject{p.Bucket}, pt.of...) {
			t.guard.denied.release(string(of))
		}
		t.guard.hooks.gaveBack(ctx, string(p.Bucket), err)
	}
}

func hasGlobal(pt *part) bool {
	return slices.ContainsFunc(pt.limits, func(l LimitState) bool { return l.Global })
}
