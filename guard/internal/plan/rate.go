package plan

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"
)

// A Rate is a limit that a request brings. It replaces those limits of an endpoint that have a dynamic_max in the policy. The count
// stays the same.
type Rate struct {
	// Endpoint is the endpoint's name.
	Endpoint string
	// Limit is the capacity of a window, 1 to 1000000. A rate that admits more than the policy's dynamic_max in the window of the policy
	// counts as dynamic_max in that window.
	Limit int64
	// Window is the length of the window, 1us to 3650d.
	Window time.Duration
}

const (
	maxLimit  = 1_000_000 // see gen/guard
	maxWindow = 3650 * 24 * time.Hour
)

func checkRates(rates []Rate) error {
	for i, r := range rates {
		if r.Limit < 1 || r.Limit > maxLimit {
			return argumentError("Rates", fmt.Sprintf("have limits of 1 to %d", maxLimit), strconv.FormatInt(r.Limit, 10))
		}
		if r.Window < time.Microsecond || r.Window > maxWindow {
			return argumentError("Rates", "have windows of 1us to 3650d", r.Window.String())
		}
		for _, other := range rates[:i] {
			if other.Endpoint == r.Endpoint {
				return argumentError("Rates", "have one rate for each endpoint", strconv.Quote(r.Endpoint))
			}
		}
	}
	return nil
}

// resolveRates returns the rates of the rows, zero without one; nil if no row has one.
func (pl *Plan) resolveRates(rates []Rate) []Rate {
	var byRow []Rate
	for _, rate := range rates {
		for i := range pl.Rows {
			if r := &pl.Rows[i]; r.maxRate > 0 && r.Endpoint == rate.Endpoint {
				if byRow == nil {
					byRow = make([]Rate, len(pl.Rows))
				}
				byRow[i] = r.bounded(rate)
			}
		}
	}
	return byRow
}

// bounded returns the rate, or the row's largest one if it admits more in the row's window.
func (r *Row) bounded(rate Rate) Rate {
	window := r.Limit.Window
	if windows := (window + rate.Window - 1) / rate.Window; rate.Limit > r.maxRate/max(int64(windows), 1) {
		rate.Limit, rate.Window = r.maxRate, window
	}
	return rate
}

// rateKey encodes the rates of some rows; "" without any. Each begins with a byte 0, as no factor does.
func (w *Resolved) rateKey(rows RowSet) string {
	if w.Rates == nil {
		return ""
	}
	var text []byte
	for i := range rows.All() {
		if rate := w.Rates[i]; rate.Limit > 0 {
			text = binary.AppendUvarint(append(text, 0, byte(i)), uint64(rate.Limit))
			text = binary.AppendUvarint(text, uint64(rate.Window))
		}
	}
	return string(text)
}
