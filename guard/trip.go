package guard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/gen/guard"
)

// A trip asks a backend for the parts of a request, and ends on time whatever the backend does. What a late answer has taken for a
// request that was turned away meanwhile is given back.
type trip struct {
	guard   *Guard
	params  []guard.AdmitParams
	answers []answer
	done    chan struct{}
	late    atomic.Bool
	fate    chan bool // of a late trip: whether its request passed after all; nil until it is late
}

// start sends the calls; the trip's end is await's business.
func (g *Guard) start(ctx context.Context, params []guard.AdmitParams) *trip {
	t := &trip{guard: g, params: params, done: make(chan struct{})}
	g.trips.Add(1)
	go t.run(context.WithoutCancel(ctx))
	return t
}

func (t *trip) run(ctx context.Context) {
	defer t.guard.trips.Done()
	answers := t.guard.remote.admit(ctx, t.params)
	if mixed(answers) {
		t.giveBack(ctx, answers)
	}
	t.answers = answers
	close(t.done)
	if !t.late.Load() {
		return
	}
	if passed := <-t.fate; !passed && !mixed(answers) {
		t.giveBack(ctx, answers)
	} else if passed {
		t.forgetReservation(ctx, &answers[0])
	}
}

// forgetReservation cancels what a late answer has reserved for a request that passed without it, where its caller will settle by
// another name: the one that Redis made of its receipt was not known then.
func (t *trip) forgetReservation(ctx context.Context, a *answer) {
	if name := a.result.Reservation; a.err == nil && name != "" && name != t.params[0].Reservation && !a.result.Duplicate {
		_ = t.guard.Cancel(ctx, string(t.params[0].Bucket), name) // the hooks are told; it ends with its hold
	}
}

// timers are stopped, and used again: making one costs more than all else that await does.
var timers = sync.Pool{New: func() any {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}}

// await returns the answers, or nil when the deadline or the context came first; then settle must be told of the request's fate.
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
	t.fate = make(chan bool, 1)
	t.late.Store(true)
	select {
	case <-t.done: // it may not have seen that it is late
		t.fate <- true
		return t.answers
	default:
		return nil
	}
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

// giveBack takes back what the parts that admitted have charged.
func (t *trip) giveBack(ctx context.Context, answers []answer) {
	for i := range answers {
		a := &answers[i]
		if a.err != nil || !a.result.Allowed || a.result.Duplicate {
			continue
		}
		err := t.guard.remote.giveBack(ctx, backOf(&t.params[i], &a.result))
		t.guard.hooks.gaveBack(ctx, string(t.params[i].Bucket), err)
	}
}
