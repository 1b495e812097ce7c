package guard

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/decide"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// MaxRefundAge is how long a request can be refunded.
const MaxRefundAge = time.Hour

// maxCalls is the most calls that a charge describes, more than a decision makes. Other text is rejected.
const maxCalls = 64

// A ticket is what a refund gives back. Its ID makes it happen once.
type ticket struct {
	ID      string
	Refunds []decide.Refund
}

// A text is a Charge as another process reads it.
type text struct {
	Namespace    string
	Endpoint     string
	Duplicate    bool                 `json:",omitempty"`
	Places       []decide.Places      `json:",omitempty"`
	Ticket       *ticket              `json:",omitempty"`
	Reservations []decide.Reservation `json:",omitempty"`
	Reserved     Amounts
}

// Text returns what c holds as text, for [Guard.Charge] in another process; "" if it holds nothing that Redis knows. Call it after Detach, so
// that the end of the request does not end it. It has no counts that depend on the response, and no places of failure mode local.
func (c *Charge) Text() string {
	h := c.load()
	if h == nil {
		return ""
	}
	t := text{
		Namespace: h.guard.namespace(), Endpoint: h.endpoint, Reservations: h.reservations, Reserved: h.reserved, Duplicate: h.duplicate,
		Ticket: h.ticket.Load(),
	}
	for _, l := range h.leases {
		if !l.Local() {
			t.Places = append(t.Places, l.Places)
		}
	}
	if len(t.Reservations) == 0 && t.Places == nil && t.Ticket == nil {
		return ""
	}
	if h.leave != nil {
		h.leave()
	}
	encoded, err := json.Marshal(t)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(encoded)
}

// Charge returns the charge of a text. A text that is none, or is of another namespace, is an error that wraps fcall.ErrArgument.
//
// A text is not signed. Accept it only from programs that got it from Text.
func (g *Guard) Charge(encoded string) (*Charge, error) {
	invalid := &fcall.ArgumentError{
		Function: "guard.charge", Name: "charge", Must: "be the text of a charge in namespace " + g.namespace(), Got: fmt.Sprintf("%.16q", encoded),
	}
	var t text
	decoded, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || json.Unmarshal(decoded, &t) != nil || t.Namespace != g.namespace() || len(t.Places) > maxCalls || len(t.Reservations) > maxCalls ||
		t.Ticket != nil && (t.Ticket.ID == "" || len(t.Ticket.Refunds) > maxCalls) || len(t.Reservations) == 0 && t.Places == nil && t.Ticket == nil {
		return nil, invalid
	}
	h := &held{guard: g, endpoint: t.Endpoint, reservations: t.Reservations, reserved: t.Reserved, duplicate: t.Duplicate}
	for i := range t.Reservations {
		if !t.Reservations[i].Complete() {
			return nil, invalid
		}
	}
	h.ticket.Store(t.Ticket)
	for i := range t.Places {
		if !t.Places[i].Complete() {
			return nil, invalid
		}
		h.addPlaces(&g.places, t.Places[i], monotime.Now())
	}
	c := new(Charge)
	c.held.Store(h)
	return c, nil
}

// namespace is that of every policy of the guard.
func (g *Guard) namespace() string { return g.asker.Client.Fcall().Namespace() }

// Refund refunds everything that a request with Request.Refundable was charged: limits, its receipt, its reservation and its challenge. It
// reports whether it did: a second refund does nothing, in whatever process. A charge older than MaxRefundAge, or of another request, is an
// error that wraps fcall.ErrArgument. After another error, do not retry: part of it may be refunded. A refund that has begun does not end with
// ctx, but after 5 s.
func (c *Charge) Refund(ctx context.Context) (refunded bool, err error) {
	h := c.load()
	invalid := func(must, got string) error {
		return &fcall.ArgumentError{Function: "guard.refund", Name: "charge", Must: must, Got: got}
	}
	var t *ticket
	if h != nil {
		t = h.ticket.Load()
	}
	if t == nil {
		return false, invalid("be of a refundable request of which nothing was refunded", "another one")
	}
	refunds := t.Refunds
	if len(refunds) == 0 {
		return false, nil
	}
	if age := time.Since(refunds[0].Sent); age >= MaxRefundAge {
		return false, invalid(fmt.Sprintf("be at most %v old", MaxRefundAge), age.String())
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
	defer cancel()
	once := genguard.MustPackLimit(genguard.Limit{Name: "refund", Kind: genguard.LimitKindFixedWindow, Limit: 1, Window: MaxRefundAge})
	first, err := h.guard.asker.Client.Admit(ctx, genguard.AdmitParams{Subject: fcall.Subject("refund/" + t.ID), Limits: once})
	if err != nil || !first.Allowed {
		return false, err
	}
	h.settled.Store(true)
	h.responded.Store(true)
	return true, h.guard.refund(ctx, h.guard.asker.Client, refunds)
}
