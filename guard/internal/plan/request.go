package plan

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
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
	Timeout        time.Duration
	Refundable     bool
}

const (
	maxWeight       = 1_000_000 // see gen/guard
	maxSubjects     = 16        // the most identities of a policy
	maxAlso         = 128       // the most that package identity reads
	maxSubjectBytes = 512
)

// Check returns an *fcall.ArgumentError if a value is out of bounds.
func (r *Request) Check() error {
	if r.Weight < 0 || r.Weight > maxWeight {
		return argumentError("Weight", fmt.Sprintf("be 0 to %d", maxWeight), strconv.FormatInt(r.Weight, 10))
	}
	if r.Timeout < 0 {
		return argumentError("Timeout", "not be negative", r.Timeout.String())
	}
	if err := checkRates(r.Rates); err != nil {
		return err
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
