// Package web has what the middlewares for HTTP, gRPC and Envoy share: they find the endpoint of a request, and write the same fields.
package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
)

// A Call is what a client sends besides its identities.
type Call struct {
	Header    http.Header // or gRPC metadata
	Operation string      // the HTTP method or full gRPC method; a receipt is valid for one operation
	Estimate  guard.Amounts
	Weight    int64
}

// Request returns the guard request for an endpoint.
func (c *Call) Request(e *guard.Endpoint, found *identity.Found) guard.Request {
	r := guard.Request{
		Endpoint: e.Name, At: e, Subjects: found.Subjects, Receipt: c.receipt(e, found), Weight: c.Weight, Estimate: c.Estimate.Money, Units: c.Estimate.Units,
	}
	if asked := e.Challenge; asked != nil {
		if r.Challenge = c.Header.Get(asked.Header); r.Challenge == "" {
			r.Challenge = found.Challenge
		}
	}
	return r
}

// receipt returns the operation and idempotency key; "" without a key or with two.
func (c *Call) receipt(e *guard.Endpoint, found *identity.Found) string {
	id := ""
	switch i := e.Idempotency; {
	case i == nil:
	case i.Fingerprint:
		id = found.Receipt
	default:
		if lines := c.Header.Values(i.Header); len(lines) == 1 {
			id = lines[0]
		}
	}
	if id == "" || strings.Contains(c.Operation, " ") { // the blank separates them; no method of a service has one
		return ""
	}
	return c.Operation + " " + id
}

// Unidentified is what Unread says of a client that cannot be told.
const Unidentified = "the client could not be identified"

// Unread returns why guard cannot tell the endpoint or the client of a request, without a full stop. call is what a client sends: a request or a call.
func Unread(err error, call string) string {
	var ambiguous *AmbiguousError
	switch {
	case errors.As(err, &ambiguous):
		return ambiguous.Error()
	case errors.Is(err, identity.ErrAmbiguous):
		_, why, _ := strings.Cut(err.Error(), identity.ErrAmbiguous.Error())
		return "the " + call + " is ambiguous" + why
	}
	return Unidentified
}

// The names in answers of errors that have a status of their own.
const (
	Unavailable = "limiter_unavailable"
	TimedOut    = "timeout"
	BadRequest  = "bad_request"
)

// Failure returns what a client is told of an error of Guard.Decide: the name in answers, and a sentence without a full stop. call is what a client
// sends: a request or a call.
func Failure(err error, call string) (name, text string) {
	var argument *fcall.ArgumentError
	switch {
	case errors.Is(err, guard.ErrUnavailable):
		return Unavailable, "The rate limiter is not available"
	case errors.Is(err, context.DeadlineExceeded): // of the request itself
		return TimedOut, "The deadline of the " + call + " has passed"
	case errors.Is(err, fcall.ErrReply), errors.Is(err, fcall.ErrState):
		return "limiter_unreadable", "The rate limiter returned unreadable data"
	case !errors.Is(err, fcall.ErrArgument):
		return "limiter_failed", "The rate limiter failed"
	case !errors.As(err, &argument) || argument.Name != "Subjects" && argument.Name != "challenge":
		return BadRequest, "The cost of the " + call + " is out of bounds"
	case argument.Name == "challenge":
		return BadRequest, "The challenge of the " + call + " is out of bounds"
	}
	return BadRequest, Sentence(Unidentified) // no limit counts one of its subjects, as on a Unix socket
}

// Sentence begins a text with a capital letter.
func Sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// Refusal returns why a decision refuses: the name of the reason in answers, a sentence for people, and what they can do besides waiting, both
// without a full stop. call is what a client sends: a request or a call.
func Refusal(d *guard.Decision, call string) (name, text, advice string) {
	switch d.Reason {
	case guard.ReasonDenied:
		return "denied", "This client is denied", ""
	case guard.ReasonBlocked:
		return "blocked", "This client is blocked", ""
	case guard.ReasonAttempts:
		return "too_many_attempts", "Too many attempts", ""
	case guard.ReasonBudget, guard.ReasonPenalty:
		return "cost_exceeded", "The budget is exhausted", ""
	case guard.ReasonTooLarge:
		return "cost_exceeded", "The " + call + " costs more than the whole budget", ""
	case guard.ReasonChallenge:
		if d.Challenge == "absent" {
			return "challenge_required", "The " + call + " needs a challenge", ""
		}
		return "challenge_invalid", "The challenge is not valid", "Request a new one"
	}
	if d.AwaitsPlace {
		return "rate_limited", "Too many requests at the same time", ""
	}
	return "rate_limited", "Too many requests", ""
}
