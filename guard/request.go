package guard

import (
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// ErrEndpoint is a request for an endpoint that the policy does not name.
var ErrEndpoint = plan.ErrEndpoint

// A Request is what is decided about.
type Request struct {
	// Endpoint is its name in the policy.
	Endpoint string
	// OtherEndpoints are endpoints that a router behind may take the request for: it is held to their limits as well. Such a request has no
	// receipt. Defaults to none.
	OtherEndpoints []string
	// Subjects are who the request is from: "user=42", "ip=203.0.113.7", at most one of each identity of the policy, as package identity
	// reads them.
	Subjects []string
	// Also are further subjects that the request names without proof. A deny holds for them too. Defaults to none.
	Also []string
	// Receipt is the request's own ID: a repeat of the same client to the same endpoint within its idempotency costs nothing. Defaults to
	// none: each request counts.
	Receipt string
	// Challenge is the one-time token that the request brings, 128 bytes at most. Defaults to none.
	Challenge string
	// Payload is what the challenge has to have been issued for, 1024 bytes at most. Defaults to none.
	Payload string
	// Weight multiplies the cost of each limit but those of a sliding log, which counts requests. Defaults to 1.
	Weight int64
	// Estimate is what the request will cost. Defaults to the policy's estimate for the endpoint.
	Estimate fcall.Micros
}
