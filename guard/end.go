package guard

import (
	"context"

	"github.com/rlfunc/rlfunc/guard/policy"
)

// An End is how a request ended. The zero value is one that was served.
type End struct {
	// Gone reports that nothing of a response was sent, because the handler panicked or the client disconnected. Then a reservation is
	// refunded, and otherwise it is settled as estimated.
	Gone bool
	// Counts reports whether a limit counts the response. Defaults to each of them.
	Counts func(*policy.Responses) bool
}

// Holds reports whether the request holds something until it ends: a reservation, places, or charges of limits that count only some
// responses. Then the caller calls End.
func (d *Decision) Holds() bool {
	return d.Reservation() != "" || d.pendingResponse != nil || d.places != nil
}

// End ends what the request holds, once, in the background and even if ctx has ended; Guard.Close waits for it. What was settled, cancelled,
// detached, counted or skipped stays as it is, but for a settlement that failed: End tries it again. Hooks.Settled and Hooks.Refunded
// report the results. The middleware calls it.
func (d *Decision) End(ctx context.Context, e End) {
	d.Release()
	d.finishSoon(ctx, e.Gone)
	if e.Counts == nil {
		d.Count()
	} else {
		d.respond(ctx, e.Counts)
	}
}
