package guard

import (
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/internal/decide"
)

// ErrEndpoint is the error for a request whose endpoint is not in the policy.
var ErrEndpoint = decide.ErrEndpoint

// An Amount is a cost in another unit than money, for example 1200 tokens.
type Amount = decide.Amount

// A Request describes one request to decide about.
type Request struct {
	// Endpoint is the endpoint's name in the policy.
	Endpoint string
	// Subjects identify the client, for example "user=42" and "ip=203.0.113.7": at most one for each identity of the policy. Package
	// identity reads them from requests, and [policy.Policy.Subject] checks and spells one. No limit counts an identity that the policy
	// does not define, for example a misspelled one or one that a new policy has dropped; see [Options.RejectUndefined].
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
