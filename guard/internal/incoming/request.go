// Package incoming makes of a call over HTTP or gRPC what a guard decides about.
package incoming

import (
	"net/http"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A Call is what a client sends besides its identities.
type Call struct {
	Header    http.Header // or metadata
	Operation string      // the method of HTTP, the full method of gRPC: a receipt is of one operation
	Path      string      // the payload of a challenge that is for a path
}

// Request returns what to decide for an endpoint, and for others that another reading of the path means.
func (c *Call) Request(p *policy.Policy, e *policy.Endpoint, others []string, found *identity.Found) guard.Request {
	r := guard.Request{Endpoint: e.Name, OtherEndpoints: others, Subjects: found.Subjects, Also: found.Also}
	if len(others) == 0 {
		r.Receipt = c.receipt(e, found)
	}
	asked := e.Challenge
	for _, name := range others {
		if other, ok := p.Endpoint(name); ok && asked == nil {
			asked = other.Challenge
		}
	}
	if asked != nil {
		if r.Challenge = c.Header.Get(asked.Header); r.Challenge == "" {
			r.Challenge = found.Challenge
		}
		if asked.Payload == policy.PayloadPath {
			r.Payload = c.Path
		}
	}
	return r
}

// receipt is the call's own ID after its operation; "" without an ID, and if a header has two.
func (c *Call) receipt(e *policy.Endpoint, found *identity.Found) string {
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
	if id == "" {
		return ""
	}
	return c.Operation + " " + id
}
