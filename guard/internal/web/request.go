// Package web has what the middlewares for HTTP, gRPC and Envoy share: they find the endpoint of a request, and write the same fields.
package web

import (
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

// Client is what WrongPart returns for a request of which no limit counts a subject, as on a Unix socket.
const Client = "client"

// WrongPart returns which part of a request an fcall.ErrArgument is about, in the words of its client.
func WrongPart(err error) string {
	var argument *fcall.ArgumentError
	if errors.As(err, &argument) {
		switch argument.Name {
		case "Subjects":
			return Client
		case "challenge":
			return "challenge"
		}
	}
	return "cost"
}

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
