// Package httpguard limits the requests that a net/http server receives. It works with every router that takes a func(http.Handler)
// http.Handler, such as chi, and with gin and echo through their adapters.
//
//	g, err := guard.New(rdb, limits, guard.Options{})
//	...
//	m, err := httpguard.New(g, httpguard.Options{})
//	...
//	http.ListenAndServe(":8080", m.Handler(mux))
//
// The match patterns of the policy select the endpoint of a request; [Middleware.For] selects it in code. A path that routers read in different
// ways, such as //v1/chat, is answered with 400; the policy's paths and escapes say what your router does. The policy's identities, with
// [Options.Code], identify the client.
//
// A handler finds its decision with [FromContext] and settles the actual cost of the request by its Charge. Otherwise the reservation counts as
// estimated. The middleware refunds it if the handler panics or the client disconnects before the response begins.
//
// A request has its places of limits of kind concurrency until its handler returns or panics. A handler that goes on elsewhere calls
// [guard.Charge.Detach].
//
// # Responses
//
//	429  a limit, budget or block refuses: rate_limited, cost_exceeded, too_many_attempts, blocked
//	403  the policy denies the client, or the challenge is missing or not valid: denied, challenge_required, challenge_invalid
//	503  failure mode closed: limiter_unavailable; the request's own deadline has passed: timeout
//	500  Redis returned unreadable data: limiter_unreadable
//	400  the client could not be identified, or an argument is out of bounds: bad_request
//	404  no endpoint matches, and the policy has unmatched: refuse: not_found
//
// Each has an RFC 9457 body, application/problem+json, with error, message, retry_after_seconds (whole seconds, rounded up) and
// context.retryAfter (the same), and Retry-After if waiting helps. RateLimit and RateLimit-Policy follow
// draft-ietf-httpapi-ratelimit-headers-11. They never list global or shadow limits, and in a refusal only limits that refuse.
//
// A Middleware is safe for concurrent use.
package httpguard
