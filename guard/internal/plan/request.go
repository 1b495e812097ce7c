package plan

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
)

// ErrEndpoint is a request for an endpoint that the policy does not name.
var ErrEndpoint = errors.New("endpoint is not in the policy")

// A Request is a guard.Request: a pointer to one converts.
type Request struct {
	Endpoint       string
	OtherEndpoints []string
	Subjects       []string
	Also           []string
	Receipt        string
	Challenge      string
	Payload        string
	Weight         int64
	Estimate       fcall.Micros
}

const (
	mostWeight   = 1_000_000 // see gen/guard
	mostSubjects = 16        // as many as a policy has identities
	mostAlso     = 128       // as many as package identity finds
	longest      = 512       // bytes of a subject
)

// Check returns an *fcall.ArgumentError for what no request may have.
func (r *Request) Check() error {
	if r.Weight < 0 || r.Weight > mostWeight {
		return wrong("Weight", fmt.Sprintf("be 0 to %d", mostWeight), strconv.FormatInt(r.Weight, 10))
	}
	if err := checkSubjects("Subjects", r.Subjects, mostSubjects); err != nil {
		return err
	}
	return checkSubjects("Also", r.Also, mostAlso)
}

func checkSubjects(name string, subjects []string, most int) error {
	if len(subjects) > most {
		return wrong(name, fmt.Sprintf("be at most %d", most), strconv.Itoa(len(subjects)))
	}
	for _, s := range subjects {
		if len(s) > longest {
			return wrong(name, fmt.Sprintf("be at most %d bytes", longest), strconv.Itoa(len(s)))
		}
		if mark := strings.IndexByte(s, '='); mark <= 0 || mark == len(s)-1 || strings.IndexByte(s, '+') >= 0 {
			return wrong(name, "be IDENTITY=VALUE without +", strconv.Quote(s))
		}
	}
	return nil
}

// Uncounted is the error of a request that nothing counts.
func (r *Request) Uncounted() error {
	return wrong("Subjects", "have an identity that a limit of "+r.Endpoint+" counts", fmt.Sprintf("%q", r.Subjects))
}

func wrong(name, must, got string) error {
	return &fcall.ArgumentError{Function: "guard.decide", Name: name, Must: must, Got: got}
}
