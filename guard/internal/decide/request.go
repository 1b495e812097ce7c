package decide

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/wire"
)

// ErrEndpoint is the error for a request whose endpoint is not in the policy.
var ErrEndpoint = errors.New("endpoint is not in the policy")

// A Request is a guard.Request; their pointers convert.
type Request struct {
	Endpoint       string
	OtherEndpoints []string
	Subjects       []string
	Also           []string
	Receipt        string
	Challenge      string
	Payload        string
	Weight         int64
	Rates          []Rate
	Estimate       fcall.Micros
	Units          []Amount
	Unreserved     []string
	Timeout        time.Duration
	Refundable     bool
}

const (
	maxSubjects     = 16  // the most identities of a policy
	maxAlso         = 128 // the most that package identity reads
	maxSubjectBytes = 512
)

// Check returns an *fcall.ArgumentError if a value is out of bounds.
func (r *Request) Check() error {
	if r.Weight < 0 || r.Weight > wire.MaxLimit {
		return argumentError("Weight", fmt.Sprintf("be 0 to %d", int64(wire.MaxLimit)), strconv.FormatInt(r.Weight, 10))
	}
	if r.Timeout < 0 {
		return argumentError("Timeout", "not be negative", r.Timeout.String())
	}
	if err := CheckUnits("guard.decide", r.Units); err != nil {
		return err
	}
	for _, rate := range r.Rates {
		if err := rate.Check(); err != nil {
			return err
		}
	}
	if err := checkSubjects("Subjects", r.Subjects, maxSubjects); err != nil {
		return err
	}
	return checkSubjects("Also", r.Also, maxAlso)
}

func checkSubjects(name string, subjects []string, most int) error {
	if len(subjects) > most {
		return argumentError(name, fmt.Sprintf("be at most %d", most), strconv.Itoa(len(subjects)))
	}
	for _, s := range subjects {
		if len(s) > maxSubjectBytes {
			return argumentError(name, fmt.Sprintf("be at most %d bytes", maxSubjectBytes), strconv.Itoa(len(s)))
		}
		if mark := strings.IndexByte(s, '='); mark <= 0 || mark == len(s)-1 || strings.IndexByte(s, '+') >= 0 {
			return argumentError(name, "be IDENTITY=VALUE without +", strconv.Quote(s))
		}
	}
	return nil
}

// Uncounted returns the error of a request that no limit counts.
func (r *Request) Uncounted() error {
	got := "none: a peer on a Unix socket has no address"
	if len(r.Subjects) > 0 {
		got = fmt.Sprintf("%q", r.Subjects)
	}
	return argumentError("Subjects", "have an identity that a limit of "+r.Endpoint+" counts", got)
}

// Undefined returns the error of a request with a subject whose identity the policy does not define.
func (r *Request) Undefined(name string) error {
	return argumentError("Subjects", "be of identities that the policy defines", strconv.Quote(name))
}

func argumentError(name, must, got string) error {
	return &fcall.ArgumentError{Function: "guard.decide", Name: name, Must: must, Got: got}
}

// A Rate is a limit that a request brings. It replaces those limits of an endpoint that have a dynamic_max in the policy. The count
// stays the same.
type Rate struct {
	// Endpoint is the endpoint's name.
	Endpoint string
	// Limit is the capacity of a window, 1 to 1000000000000. A rate that admits more than the policy's dynamic_max in the window of the policy
	// counts as dynamic_max in that window.
	Limit int64
	// Window is the length of the window, 1us to 3650d.
	Window time.Duration
}

const maxWindow = 3650 * 24 * time.Hour

// Check returns an *fcall.ArgumentError if the limit or the window is out of bounds.
func (r Rate) Check() error {
	if r.Limit < 1 || r.Limit > wire.MaxLimit {
		return argumentError("Rates", fmt.Sprintf("have limits of 1 to %d", int64(wire.MaxLimit)), strconv.FormatInt(r.Limit, 10))
	}
	if r.Window < time.Microsecond || r.Window > maxWindow {
		return argumentError("Rates", "have windows of 1us to 3650d", r.Window.String())
	}
	return nil
}

// below reports whether r admits less than another rate over a long time.
func (r Rate) below(other Rate) bool {
	return float64(r.Limit)*float64(other.Window) < float64(other.Limit)*float64(r.Window)
}

// resolveRates returns the rates of the rows, zero without one; nil if no row has one.
func (ep *Endpoint) resolveRates(rates []Rate) []Rate {
	var byRow []Rate
	for _, rate := range rates {
		for i := range ep.Rows {
			if r := &ep.Rows[i]; r.maxRate > 0 && r.Endpoint == rate.Endpoint {
				if byRow == nil {
					byRow = make([]Rate, len(ep.Rows))
				}
				if b := r.bounded(rate); byRow[i].Limit == 0 || b.below(byRow[i]) {
					byRow[i] = b
				}
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
