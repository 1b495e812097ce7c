package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/admit"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// MaxTicketAge is how long a decision can be refunded by its ticket.
const MaxTicketAge = time.Hour

// A ticket is what Redis charged for a decision.
type ticket struct {
	ID      string
	Sent    time.Time
	Charges []admit.Charge
}

// Ticket returns text with which any process can refund the decision, see [Guard.Refund]. It is "" if Redis charged nothing, and without
// Request.Refundable.
func (d *Decision) Ticket() string {
	p := d.pendingResponse
	for p != nil && p.backend != &p.guard.sender.Backend {
		p = p.next // of this process's local engine
	}
	if p == nil || !p.query.Request.Refundable {
		return ""
	}
	t := ticket{ID: fcall.NewToken(), Sent: time.Now().Add(-monotime.Now().Since(p.query.Sent)), Charges: admit.Charges(p.query, p.answers, p.backend.Share)}
	if len(t.Charges) == 0 {
		return ""
	}
	return p.guard.encodeOpaque(t)
}

// Refund refunds everything that an admitted request was charged: limits, its receipt, its reservation and its challenge. It reports whether
// it did: a second refund of a ticket does nothing. A ticket older than MaxTicketAge or of another namespace, and text that is not a ticket, are
// errors that wrap fcall.ErrArgument. After another error, do not retry: the ticket may be used up. A refund
// that has begun does not end with ctx, but after 5 s.
//
// A ticket is not signed. Accept it only from programs that Decide returned it to.
func (g *Guard) Refund(ctx context.Context, text string) (bool, error) {
	t, err := g.parseTicket(text)
	if err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
	defer cancel()
	once := genguard.MustPackLimit(genguard.Limit{Name: "refund", Kind: genguard.LimitKindFixedWindow, Limit: 1, Window: MaxTicketAge})
	first, err := g.sender.Client.Admit(ctx, genguard.AdmitParams{Subject: fcall.Subject("refund/" + t.ID), Limits: once})
	if err != nil || !first.Allowed {
		return false, err
	}
	var errs []error
	for i := range t.Charges {
		c := &t.Charges[i]
		if c.Refund.Limits, err = genguard.PackLimit(c.Limits...); err == nil {
			c.Refund.Age = max(time.Since(t.Sent), 0)
			_, err = g.sender.Client.Refund(ctx, c.Refund)
		}
		subjects := []string{string(c.Refund.Subject), string(c.Refund.ReservationOf), string(c.Refund.ChallengeOf)}
		for _, s := range c.Refund.LimitsOf {
			subjects = append(subjects, string(s))
		}
		g.sender.Refunded(ctx, subjects[0], subjects, err)
		errs = append(errs, err)
	}
	return true, errors.Join(errs...)
}

func (g *Guard) parseTicket(text string) (*ticket, error) {
	invalid := func(must string) error {
		return &fcall.ArgumentError{Function: "guard.refund", Name: "ticket", Must: must, Got: fmt.Sprintf("%.16q", text)}
	}
	var t ticket
	if !g.decodeOpaque(text, &t) || t.ID == "" || len(t.Charges) == 0 || len(t.Charges) > maxCalls {
		return nil, invalid("be a ticket of a decision in namespace " + g.namespace())
	}
	if time.Since(t.Sent) >= MaxTicketAge {
		return nil, invalid(fmt.Sprintf("be at most %v old", MaxTicketAge))
	}
	return &t, nil
}
