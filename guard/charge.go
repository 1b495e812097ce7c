package guard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A Charge is what an admitted request holds until it ends: a reservation in budgets, places of limits of kind concurrency, and the counts
// of limits that count only some responses. The middleware ends it with the request.
//
// Its methods may be called in any order, at the same time, and of nil, which holds nothing. What has ended, ended once.
type Charge struct{ held atomic.Pointer[held] }

// A held is what a Charge holds. Detach moves it to another Charge.
type held struct {
	guard    *Guard
	endpoint string

	reservations []reservation // one for each call
	settled      atomic.Bool
	unrecorded   atomic.Pointer[Amounts] // a cost that Settle could not record

	leases []*lease
	lost   chan struct{} // closed once some places are lost
	lose   func()        // closes lost

	counting  []*ask // with counts that depend on the response
	responded atomic.Bool
}

// A reservation is what one call reserved.
type reservation struct {
	callReservation
	Reserved Amounts
	Free     bool `json:",omitempty"` // it reserved nothing, because its receipt has paid for it before
}

// load returns what c holds, or nil.
func (c *Charge) load() *held {
	if c == nil {
		return nil
	}
	return c.held.Load()
}

// hold adds what the calls of an admitted request charged to its decision.
func (g *Guard) hold(d *Decision, q *ask, k *keeper) {
	for i := range q.calls {
		c := &q.calls[i]
		if r, ok := q.reserved(c); ok && !k.local {
			h := g.heldBy(d)
			money, units := q.estimates(c)
			reserved := Amounts{money, units}
			h.reservations = append(h.reservations, reservation{r, reserved, c.err == nil && c.result.Duplicate && !reserved.any()})
		}
	}
	if q.plan.counting {
		h := g.heldBy(d)
		h.counting = append(h.counting, q)
	}
	if q.holder == "" {
		return
	}
	for i := range q.calls {
		if c := &q.calls[i]; c.err == nil && c.result.Allowed {
			if p, ok := q.placesOf(c); ok {
				g.heldBy(d).addPlaces(k, p, q.sent)
			}
		}
	}
}

// heldBy returns what a decision's Charge holds, of a new one if it has none.
func (g *Guard) heldBy(d *Decision) *held {
	if d.Charge == nil {
		d.Charge = new(Charge)
		d.Charge.held.Store(&held{guard: g, endpoint: d.Endpoint})
	}
	return d.Charge.load()
}

// addPlaces adds places that a call charged, which was sent at a time.
func (h *held) addPlaces(k *keeper, p places, sent monotime.Time) {
	if h.lost == nil {
		lost := make(chan struct{})
		h.lost, h.lose = lost, sync.OnceFunc(func() { close(lost) })
	}
	h.leases = append(h.leases, k.hold(h.guard.located(p), sent, h.lose))
}

// Detach returns a Charge with what c holds, and c holds nothing any longer: for work that goes on after the request, such as a hijacked
// connection, a job or another process. Whoever has it calls End.
func (c *Charge) Detach() *Charge {
	out := new(Charge)
	if c != nil {
		out.held.Store(c.held.Swap(nil))
	}
	return out
}

// An End is how a request ended. The zero value is one that was served.
type End struct {
	// Gone reports that nothing of a response was sent, because the handler panicked or the client disconnected. Then a reservation is
	// refunded, and otherwise it is settled as estimated.
	Gone bool
	// Used is what a reservation is settled as; a unit that is not given is settled as estimated. Defaults to the estimates.
	Used *Amounts
	// Unknown is why it is not known what was used, although the response could have told: then guard says so. Defaults to none.
	Unknown Unknown
	// Counts reports whether a limit counts the response. Defaults to each of them.
	Counts func(*policy.Responses) bool
}

// Unknown is why it is not known what a call of an upstream has used, so that its estimate counts.
type Unknown string

// The reasons.
const (
	UnknownUnread   Unknown = "unread"   // the response was not read to its end
	UnknownUntold   Unknown = "untold"   // the response does not tell
	UnknownEncoding Unknown = "encoding" // the response has a Content-Encoding that cannot be read
	UnknownUnits    Unknown = "units"    // the response tells of a unit that the request did not reserve
)

// End ends all that the request holds, in the background and even if ctx has ended; Guard.Close waits for it. It releases places, settles the
// reservation and refunds what does not count. What was settled or counted before stays as it is, but for a settlement that failed: End
// tries it again. [Settled] and [Refunded] report the results.
func (c *Charge) End(ctx context.Context, e End) {
	h := c.load()
	if h == nil {
		return
	}
	for _, l := range h.leases {
		l.release()
	}
	h.settleAtEnd(ctx, e)
	h.respond(ctx, e.Counts)
}

// Count decides whether limits that count only some responses count this request, whatever its response is. It does nothing after another
// Count.
func (c *Charge) Count(ctx context.Context, counts bool) {
	if h := c.load(); h != nil {
		h.respond(ctx, func(*policy.Responses) bool { return counts })
	}
}

// respond refunds the counts of limits that do not count the response, once. A nil counts counts each of them.
func (h *held) respond(ctx context.Context, counts func(*policy.Responses) bool) {
	if !h.responded.CompareAndSwap(false, true) || counts == nil {
		return
	}
	for _, q := range h.counting {
		skipped := rowSet(0)
		for i := range q.rows.all() {
			if r := q.plan.rows[i].count; r != nil && !counts(r) {
				skipped |= 1 << i
			}
		}
		if skipped == 0 {
			continue
		}
		refunds, client := q.refundRows(skipped), h.guard.asker.client
		if q.share.local {
			client = h.guard.local.Load()
		}
		h.guard.finish(ctx, func(ctx context.Context) { h.guard.refund(ctx, client, refunds) })
	}
}

// Keep renews the leases on the request's places in the background until Release or End. Without it they end by themselves. It returns a
// channel that is closed if some are lost: then other requests may have them. Causes are that Redis did not answer for as long as a
// lease, that it lost the keys, or that an operator reset the limit. The channel is nil if the request has no places.
func (c *Charge) Keep() (lost <-chan struct{}) {
	h := c.load()
	if h == nil {
		return nil
	}
	for _, l := range h.leases {
		l.keep()
	}
	return h.lost
}

// Renew keeps the places for their leases from now on, as Keep does in the background. It returns how long that is, or 0 if some are lost.
// It returns within the policy's timeout. After an error, retry while the lease lasts.
func (c *Charge) Renew(ctx context.Context) (expiresAfter time.Duration, err error) {
	h := c.load()
	if h == nil || len(h.leases) == 0 {
		return 0, nil
	}
	if lost, err := callNow(h.leases, false); lost || err != nil {
		return 0, err
	}
	return max(h.expiresAfter(), 1), nil
}

// Release releases the places before the end of the request. It reports whether the request still had all of them. After an error, guard
// goes on trying in the background.
func (c *Charge) Release(ctx context.Context) (released bool, err error) {
	h := c.load()
	if h == nil || len(h.leases) == 0 {
		return false, nil
	}
	lost, err := callNow(h.leases, true)
	if err != nil {
		for _, l := range h.leases {
			l.release()
		}
	}
	return !lost && err == nil, err
}

// ExpiresAfter returns how long the places are kept without another Renew; 0 without places.
func (c *Charge) ExpiresAfter() time.Duration {
	h := c.load()
	if h == nil || len(h.leases) == 0 {
		return 0
	}
	return h.expiresAfter()
}

func (h *held) expiresAfter() time.Duration {
	first := slices.MinFunc(h.leases, func(a, b *lease) int { return cmp.Compare(a.left(), b.left()) })
	return first.left()
}

// located sets the node of places. The local engine ignores it.
func (g *Guard) located(p places) places {
	if g.split.Load() {
		p.Node = g.asker.client.Fcall().Node(context.Background(), p.Subject)
	}
	return p
}

func (g *Guard) startPlaces() {
	g.places.background, g.places.do = g.background, func(node string, calls []leaseCall) {
		g.asker.callLeases(node, calls, g.Policy().Timeout)
	}
	g.localPlaces.local = true
	g.localPlaces.background, g.localPlaces.do = g.background, func(_ string, calls []leaseCall) {
		for i := range calls {
			calls[i].send(context.Background(), g.local.Load())
		}
	}
}

// maxCalls is the most calls that a charge describes, more than a decision makes. Other text is rejected.
const maxCalls = 64

// A text is a Charge as another process reads it.
type text struct {
	Namespace    string
	Endpoint     string
	Places       []places      `json:",omitempty"`
	Reservations []reservation `json:",omitempty"`
}

// Text returns what c holds as text, for [Guard.ParseCharge] in another process; "" if it holds nothing that Redis knows. Call it after Detach, so
// that the end of the request does not end it. It has no counts that depend on the response, and no places of failure mode local.
func (c *Charge) Text() string {
	h := c.load()
	if h == nil {
		return ""
	}
	t := text{Namespace: h.guard.namespace(), Endpoint: h.endpoint, Reservations: h.reservations}
	for _, l := range h.leases {
		if !l.local() {
			t.Places = append(t.Places, l.places)
		}
	}
	if len(t.Reservations) == 0 && t.Places == nil {
		return ""
	}
	encoded, err := json.Marshal(t)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(encoded)
}

// ParseCharge returns the charge of a text. A text that is none, or is of another namespace, is an error that wraps fcall.ErrArgument.
//
// A text is not signed. Accept it only from programs that got it from Text.
func (g *Guard) ParseCharge(encoded string) (*Charge, error) {
	invalid := &fcall.ArgumentError{
		Function: "guard.charge", Name: "charge", Must: "be the text of a charge in namespace " + g.namespace(), Got: fmt.Sprintf("%.16q", encoded),
	}
	var t text
	decoded, err := base64.RawURLEncoding.DecodeString(encoded)
	strict := json.NewDecoder(bytes.NewReader(decoded))
	strict.DisallowUnknownFields()
	if err != nil || strict.Decode(&t) != nil || t.Namespace != g.namespace() || len(t.Places) > maxCalls || len(t.Reservations) > maxCalls ||
		len(t.Reservations) == 0 && t.Places == nil {
		return nil, invalid
	}
	h := &held{guard: g, endpoint: t.Endpoint, reservations: t.Reservations}
	for i := range t.Reservations {
		r := &t.Reservations[i]
		if !r.complete() || checkUnits("guard.charge", r.Reserved.Units) != nil || r.Reserved.Money < 0 {
			return nil, invalid
		}
	}
	for i := range t.Places {
		if !t.Places[i].complete() {
			return nil, invalid
		}
		h.addPlaces(&g.places, t.Places[i], monotime.Now())
	}
	c := new(Charge)
	c.held.Store(h)
	return c, nil
}

// namespace is that of every policy of the guard.
func (g *Guard) namespace() string { return g.asker.client.Fcall().Namespace() }
