package guard

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// ErrEndpoint is the error for a request whose endpoint is not in the policy.
var ErrEndpoint = errors.New("endpoint is not in the policy")

// An Amount is a cost in another unit than money: 1200 tokens.
type Amount struct {
	// Unit is a unit of the policy's budgets.
	Unit string
	// N is a whole number, 0 to 1000000000000000.
	N int64
}

// A Request describes one request to decide about.
type Request struct {
	// Endpoint is the endpoint's name in the policy.
	Endpoint string
	// At is the endpoint itself, as [Compile] hands it to middleware. Its policy decides then, and Subjects, which must come from that policy's
	// reader, are not checked again. Defaults to the current policy's endpoint of that name.
	At *Endpoint
	// Subjects identify the client, for example "user=42" and "ip=203.0.113.7": at most one for each identity of the policy. Package
	// identity reads them from requests, and [policy.Policy.Subject] checks and spells one. No limit counts an identity that the policy
	// does not define, for example a misspelled one or one that a new policy has dropped; see [Decided].
	Subjects []string
	// Receipt is an idempotency key, for an endpoint with idempotency in the policy; any other ignores it. A repeat by the same client to
	// the same endpoint is not charged again. Defaults to none: each request is charged.
	Receipt string
	// Challenge is a one-time token, at most 128 bytes. Defaults to none.
	Challenge string
	// Payload is the text that the challenge was issued for, at most 1024 bytes. Defaults to none.
	Payload string
	// Weight multiplies the cost of each limit, except that a sliding log counts each request once. Defaults to 1.
	Weight int64
	// Estimate is the expected cost of the request in money. Defaults to the policy's estimate for the endpoint.
	Estimate fcall.Micros
	// Units are the expected costs in other units of the endpoint's budgets, at most one of each. Another unit is an error. Defaults to the
	// policy's estimates for the endpoint, as each unit does that is omitted.
	Units []Amount
	// Unreserved are units whose estimates, at least 1 of each, must fit their budgets without being reserved: [Guard.Record] records the cost.
	// Defaults to none.
	Unreserved []string
	// Timeout is how long to wait for Redis if that is shorter than the policy's timeout; then the failure modes decide. A client that
	// chooses it can have limits of mode open let it pass. Defaults to the policy's timeout.
	Timeout time.Duration
}

func (r Request) clone() Request {
	r.Subjects, r.Units = slices.Clone(r.Subjects), slices.Clone(r.Units)
	r.Unreserved = slices.Clone(r.Unreserved)
	return r
}

const (
	maxSubjects     = 16 // the most identities of a policy
	maxSubjectBytes = 512
)

// checkAmounts returns an *fcall.ArgumentError if a weight, a timeout or a cost is out of bounds.
func (r *Request) checkAmounts() error {
	if r.Weight < 0 || r.Weight > agreed.MaxLimit {
		return argumentError("Weight", fmt.Sprintf("be 0 to %d", int64(agreed.MaxLimit)), strconv.FormatInt(r.Weight, 10))
	}
	if r.Timeout < 0 {
		return argumentError("Timeout", "not be negative", r.Timeout.String())
	}
	return checkUnits("guard.decide", r.Units)
}

// checkSubjects does so for the subjects.
func (r *Request) checkSubjects() error {
	if len(r.Subjects) > maxSubjects {
		return argumentError("Subjects", fmt.Sprintf("be at most %d", maxSubjects), strconv.Itoa(len(r.Subjects)))
	}
	for _, s := range r.Subjects {
		if len(s) > maxSubjectBytes {
			return argumentError("Subjects", fmt.Sprintf("be at most %d bytes", maxSubjectBytes), strconv.Itoa(len(s)))
		}
		if mark := strings.IndexByte(s, '='); mark <= 0 || mark == len(s)-1 || strings.IndexByte(s, '+') >= 0 {
			return argumentError("Subjects", "be IDENTITY=VALUE without +", strconv.Quote(s))
		}
	}
	return nil
}

// uncounted returns the error of a request that no limit counts.
func (r *Request) uncounted() error {
	got := "none: a peer on a Unix socket has no address"
	if len(r.Subjects) > 0 {
		got = fmt.Sprintf("%q", r.Subjects)
	}
	return argumentError("Subjects", "have an identity that a limit of "+r.Endpoint+" counts", got)
}

func argumentError(name, must, got string) error {
	return &fcall.ArgumentError{Function: "guard.decide", Name: name, Must: must, Got: got}
}

// wholeUnit is one of a unit in millionths, as policies and decisions have budgets.
const wholeUnit = 1_000_000

// millionths returns an amount as policies and decisions have it, given as Redis has it: of a unit, in whole ones. It is at most 2^63-1.
func millionths(unit string, n fcall.Micros) fcall.Micros {
	if unit == "" {
		return n
	}
	return min(n, math.MaxInt64/wholeUnit) * wholeUnit
}

const maxAmount = 1_000_000_000_000_000 // see gen/guard

// checkUnits returns an *fcall.ArgumentError of a function if an amount is out of bounds, or a unit has two.
func checkUnits(function string, units []Amount) error {
	for i, a := range units {
		wrong := &fcall.ArgumentError{Function: function, Name: "Units"}
		switch {
		case a.N < 0 || a.N > maxAmount:
			wrong.Must, wrong.Got = "be 0 to "+strconv.FormatInt(maxAmount, 10)+" of "+strconv.Quote(a.Unit), strconv.FormatInt(a.N, 10)
		case slices.ContainsFunc(units[:i], func(other Amount) bool { return other.Unit == a.Unit }):
			wrong.Must, wrong.Got = "have one amount of each unit", "several of "+strconv.Quote(a.Unit)
		default:
			continue
		}
		return wrong
	}
	return nil
}

// inUnits returns the amounts with those that are given in their place. A given unit that is none of these is an *fcall.ArgumentError of a
// function.
func inUnits(function string, amounts, given []Amount) ([]Amount, error) {
	if err := checkUnits(function, given); err != nil || len(given) == 0 {
		return amounts, err
	}
	amounts = slices.Clone(amounts)
	for _, a := range given {
		i := slices.IndexFunc(amounts, func(own Amount) bool { return own.Unit == a.Unit })
		if i < 0 {
			must := "be omitted: the request has budgets of money only"
			if len(amounts) > 0 {
				must = "be of the request's units:"
				for _, own := range amounts {
					must += " " + own.Unit
				}
			}
			return nil, &fcall.ArgumentError{Function: function, Name: "Units", Must: must, Got: strconv.Quote(a.Unit)}
		}
		amounts[i] = a
	}
	return amounts, nil
}

// packUnits returns amounts, which were checked, as rows of a call.
func packUnits(amounts []Amount, unreserved []string) fcall.Rows[genguard.UnitAmount] {
	if len(amounts) == 0 {
		return fcall.Rows[genguard.UnitAmount]{}
	}
	rows := make([]genguard.UnitAmount, len(amounts))
	for i, a := range amounts {
		rows[i] = genguard.UnitAmount{Unit: a.Unit, Amount: a.N, Unreserved: slices.Contains(unreserved, a.Unit)}
	}
	return genguard.PackUnitAmount(rows...)
}
