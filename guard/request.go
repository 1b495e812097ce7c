package guard

import (
	"errors"

	"github.com/rlfunc/rlfunc/fcall"
)

// ErrEndpoint is a request for an endpoint that the policy does not name.
var ErrEndpoint = errors.New("endpoint is not in the policy")

// A Request is what is decided about.
type Request struct {
	// Endpoint is its name in the policy.
	Endpoint string
	// Subject is whom the limits are about, "ip=203.0.113.7", as package identity makes it. Any bytes are safe;
	// an empty one is an error.
	Subject string
	// Receipt is the request's own ID: a double click or a retry that brings the same one to the same endpoint within the endpoint's
	// dedup costs nothing. Defaults to none: each request counts.
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
