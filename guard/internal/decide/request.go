package decide

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// ErrEndpoint is the error for a request whose endpoint is not in the policy.
var ErrEndpoint = errors.New("endpoint is not in the policy")

// A Request is a guard.Request; their pointers convert.
type Request struct {
	Endpoint   string
	Subjects   []string
	Receipt    string
	Challenge  string
	Payload    string
	Weight     int64
	Estimate   fcall.Micros
	Units      []Amount
	Unreserved []string
	Timeout    time.Duration
}

const (
	maxSubjects     = 16 // the most identities of a policy
	maxSubjectBytes = 512
)

// Check returns an *fcall.ArgumentError if a value is out of bounds.
func (r *Request) Check() error {
	if r.Weight < 0 || r.Weight > agreed.MaxLimit {
		return argumentError("Weight", fmt.Sprintf("be 0 to %d", int64(agreed.MaxLimit)), strconv.FormatInt(r.Weight, 10))
	}
	if r.Timeout < 0 {
		return argumentError("Timeout", "not be negative", r.Timeout.String())
	}
	if err := CheckUnits("guard.decide", r.Units); err != nil {
		return err
	}
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

// An Amount is a cost in another unit than money: 1200 tokens.
type Amount struct {
	// Unit is a unit of the policy's budgets.
	Unit string
	// N is a whole number, 0 to 1000000000000000.
	N int64
}

// Unit is one of a unit in millionths, as policies and decisions have budgets.
const Unit = 1_000_000

// Millionths returns an amount as policies and decisions have it, given as Redis has it: of a unit, in whole ones. It is at most 2^63-1.
func Millionths(unit string, n fcall.Micros) fcall.Micros {
	if unit == "" {
		return n
	}
	return min(n, math.MaxInt64/Unit) * Unit
}

const maxAmount = 1_000_000_000_000_000 // see gen/guard

// CheckUnits returns an *fcall.ArgumentError of a function if an amount is out of bounds, or a unit has two.
func CheckUnits(function string, units []Amount) error {
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

// InUnits returns the amounts with those that are given in their place. A given unit that is none of these is an *fcall.ArgumentError of a
// function.
func InUnits(function string, amounts, given []Amount) ([]Amount, error) {
	if err := CheckUnits(function, given); err != nil || len(given) == 0 {
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
func packUnits(amounts []Amount, unreserved []string) fcall.Rows[guard.UnitAmount] {
	if len(amounts) == 0 {
		return fcall.Rows[guard.UnitAmount]{}
	}
	rows := make([]guard.UnitAmount, len(amounts))
	for i, a := range amounts {
		rows[i] = guard.UnitAmount{Unit: a.Unit, Amount: a.N, Unreserved: slices.Contains(unreserved, a.Unit)}
	}
	return guard.PackUnitAmount(rows...)
}
