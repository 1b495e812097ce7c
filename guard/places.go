package guard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/guard/internal/admit"
	"github.com/rlfunc/rlfunc/guard/internal/fallback"
	"github.com/rlfunc/rlfunc/guard/internal/places"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// heldPlaces are the places of a request, of limits of kind concurrency. Clones of a decision share them.
type heldPlaces struct {
	guard    *Guard
	leases   []*places.Lease
	detached atomic.Bool
	lost     chan struct{} // closed once some are lost
	lose     func()        // closes lost
}

// Keep renews the leases on the request's places in the background until Release. Without it they end by themselves. It returns a
// channel that is closed if some are lost: then other requests may have them. Causes are that Redis did not answer for as long as a
// lease, that it lost the keys, or that an operator reset the limit. The channel is nil if the request has no places.
func (d *Decision) Keep() (lost <-chan struct{}) {
	h := d.places
	if h == nil {
		return nil
	}
	for _, l := range h.leases {
		l.Keep()
	}
	return h.lost
}

// Release releases the request's places before its end, in the background; Guard.Close waits for it. It does nothing without places, after another
// Release, or after DetachPlaces.
func (d *Decision) Release() {
	if h := d.places; h != nil && !h.detached.Load() {
		h.release()
	}
}

// DetachPlaces returns a function that releases the request's places. After it, Release does nothing, so that a handler can hand its
// work to another goroutine and return: a hijacked connection, or a job that it started.
func (d *Decision) DetachPlaces() (release func()) {
	h := d.places
	if h == nil {
		return func() {}
	}
	h.detached.Store(true)
	return h.release
}

// AwaitsPlace reports whether only limits of kind concurrency refuse the request. A place may be released at any time, so RetryAfter is
// at most 1 s then: when to try again, not when the request passes.
func (d *Decision) AwaitsPlace() bool { return d.awaitsPlace }

func (h *heldPlaces) release() {
	for _, l := range h.leases {
		l.Release()
	}
}

// placeRetry is the longest RetryAfter of a request that awaits a place.
const placeRetry = time.Second

// adjustPlaceWait replaces the wait for a place, which is when leases end if no request ends or renews.
func (d *Decision) adjustPlaceWait() {
	if d.Allowed || d.Reason != ReasonLimit && d.Reason != ReasonGlobal {
		return
	}
	var places, others time.Duration
	for i := range d.Limits {
		l := &d.Limits[i]
		switch {
		case !refuses(l):
		case l.Kind == policy.Concurrency:
			places = max(places, l.RetryAfter)
		default:
			others = max(others, l.RetryAfter)
		}
	}
	for i := range d.Budgets {
		others = max(others, d.Budgets[i].RetryAfter)
	}
	if places > 0 && d.RetryAfter <= max(places, others) {
		d.RetryAfter, d.awaitsPlace = max(others, min(places, placeRetry)), others == 0
	}
}

// needsPlace reports whether a limit of kind concurrency refuses. Such a refusal is not cached.
func (d *Decision) needsPlace() bool {
	for i := range d.Limits {
		if l := &d.Limits[i]; l.Kind == policy.Concurrency && refuses(l) {
			return true
		}
	}
	return false
}

// hold gives an allowed request the places that its calls charged, and releases those of calls whose outcome is unknown.
func (g *Guard) hold(d *Decision, k *places.Keeper, q *plan.Query, answers []admit.Answer, share plan.Share) {
	if q.Holder == "" {
		return
	}
	for i := range q.Calls {
		c, a := &q.Calls[i], &answers[i]
		if admit.MayHaveRun(a.Err) {
			g.releasePlaces(k, q, c, share)
		}
		if a.Err != nil {
			continue
		}
		p, ok := q.Places(c, c.Charged(q.Plan, &a.Result), share)
		if !ok || !a.Result.Allowed {
			continue
		}
		if d.places == nil {
			lost := make(chan struct{})
			d.places = &heldPlaces{guard: g, lost: lost, lose: sync.OnceFunc(func() { close(lost) })}
		}
		h := d.places
		h.leases = append(h.leases, k.Hold(g.located(p), q.Sent, h.lose))
	}
}

// holdLocally is hold for the local engine. It releases the places of a refused request.
func (g *Guard) holdLocally(d *Decision, q *plan.Query, answers []admit.Answer, share plan.Share) {
	if d.Allowed {
		g.hold(d, &g.localPlaces, q, answers, share)
		return
	}
	for i := range q.Calls {
		if answers[i].Err == nil && answers[i].Result.Allowed {
			g.releasePlaces(&g.localPlaces, q, &q.Calls[i], share)
		}
	}
}

// releasePlaces releases the places that a call charged or may have charged.
func (g *Guard) releasePlaces(k *places.Keeper, q *plan.Query, c *plan.Call, share plan.Share) {
	if p, ok := q.Places(c, c.Limits.Rows, share); ok {
		k.Hold(g.located(p), q.Sent, func() {}).Release()
	}
}

// located sets the node of places. The local engine ignores it.
func (g *Guard) located(p places.Places) places.Places {
	if g.split.Load() {
		p.Node = g.sender.Client.Fcall().Node(context.Background(), p.Subject)
	}
	return p
}

func (g *Guard) startPlaces() {
	g.places.Background, g.places.Do = g.background, g.callPlaces
	g.localPlaces.Local = true
	g.localPlaces.Background, g.localPlaces.Do = g.background, func(_ string, calls []places.Call) {
		for i := range calls {
			calls[i].Make(context.Background(), g.local.Load())
		}
	}
}

// callPlaces makes calls to one node, with the deadline of a decision and behind the node's circuit breaker.
func (g *Guard) callPlaces(node string, calls []places.Call) {
	permit, ok := g.breakers.Allow(node)
	if !ok {
		places.Fail(calls, fallback.ErrBreaker)
		return
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), g.Policy().Timeout, ErrTimeout)
	defer cancel()
	made := make(chan []places.Call, 1)
	own := append([]places.Call(nil), calls...) // it may outlast the timeout
	g.background(func() {
		places.MakeAll(ctx, g.sender.Client, g.rdb.Pipeline(), own)
		made <- own
	})
	select {
	case <-made:
		copy(calls, own)
	case <-ctx.Done():
		places.Fail(calls, ErrTimeout)
	}
	var failed error
	for i := range calls {
		if failed = calls[i].Err; failed != nil {
			break
		}
	}
	permit.Done(failed)
}
