// Package httpguard puts a guard in front of a net/http handler. It works wherever a func(http.Handler) http.Handler does: chi, and by
// their adapters gin and echo.
//
// Which endpoint of the policy a request is for is told by the endpoints' match patterns, or by [Middleware.For]. A path that a router
// behind may read in several ways is held to the limits of every endpoint that it may mean. Who it is from is what the policy's identities
// say, with the service's own code in [Options.Code]. An allowed request reaches the handler with its decision in the
// context, see [FromContext]; what it reserved of a budget is settled by the handler, or else counts as estimated. It is given back only when
// the handler panics, or the client has gone, before anything of an answer was written, flushed or hijacked.
//
// # Answers
//
//	429  a limit, a budget or a block refuses: error rate_limited, cost_exceeded, too_many_attempts, blocked
//	403  the policy denies the subject, or the challenge is missing or not valid: error denied, challenge_required, challenge_invalid
//	503  Redis does not answer and a limit is closed: error limiter_unavailable; the request's own deadline has passed: timeout
//	500  what Redis answered can not be read: error limiter_unreadable
//	400  the request does not say clearly who it is from: error bad_request
//
// Each has an RFC 9457 problem body, `application/problem+json`, with error, message, retry_after_seconds (whole seconds, rounded
// up) and context.retryAfter (the same), and Retry-After where waiting helps. RateLimit and RateLimit-Policy follow
// draft-ietf-httpapi-ratelimit-headers-11: without global limits and shadow limits.
package httpguard
