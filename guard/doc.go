// Package guard decides whether a service may serve a request: allowed or refused, why, and for how long.
//
// A [policy.Policy] names a service's endpoints and what applies to each: limits of a subject, global limits, cost budgets, blocks
// after too many attempts, one-time challenges. [Guard.Decide] evaluates all of them in one round trip to Redis. On one server
// that is one atomic call: it charges all limits or none. On a cluster it is one call for each subject, at the same time; if one
// refuses, guard refunds what the others charged.
//
//	limits, err := policy.Load("limits.yaml")
//	...
//	g, err := guard.New(rdb, limits, guard.Options{})
//	...
//	d, err := g.Decide(ctx, guard.Request{Endpoint: "chat", Subjects: []string{"user=42", "ip=203.0.113.7"}})
//	switch {
//	case err != nil: // could not be decided
//	case !d.Allowed: // refused: see d.Reason and d.RetryAfter
//	}
//
// Packages httpguard and grpcguard do this for HTTP handlers and gRPC methods.
//
// # Concepts
//
// A subject is an identity and its value, such as "user=42". A limit counts one subject, a combination of subjects, or all
// requests (a global limit). A shadow limit counts but never refuses. A receipt is an idempotency key: a known receipt is not
// charged again. A request to an endpoint with budgets reserves its estimated cost; [Charge.Settle] replaces the estimate by
// the actual cost.
//
// # Failure modes
//
// A decision takes at most the policy's timeout, 50 ms by default, even while the client is dialling or waiting for a connection.
// Then the failure mode of each limit decides. [policy.Local] enforces this process's share of the limit, with the same Lua in an
// embedded engine. [policy.Open] lets the request pass. [policy.Closed] returns an [*UnavailableError]. A node's circuit breaker
// opens once half of its calls in the last second were lost; guard then applies the failure modes at once and retries the node
// periodically. Errors of a server that still answers, such as OOM, open no breaker.
//
// Whatever goes wrong between guard and Redis gets the failure mode: a lost connection, an unreadable answer, an error that the client
// library makes before it sends anything. An answer that comes too late is not waited for: what limits counted stays, but reservations and
// places of a request that does not have them end.
//
// # Cached refusals
//
// A process answers repeated requests of a refused subject without Redis, until retry_after, and for [Options.CacheTTL] at most.
//
// # Prefetch
//
// A process may take tokens of a hot global limit in batches; see [policy.Prefetch]. A request that asks for nothing else is then decided
// without a call.
//
// # Requests at the same time
//
// A request to an endpoint with a limit of kind concurrency has places until [Charge.End], or until its lease ends. The caller
// calls it when the request ends; [Charge.Keep] renews the leases until then. The middleware does both.
//
// # Errors
//
// A refusal is not an error; see [Decision.Allowed]. Errors are [*UnavailableError] (failure mode closed), [ErrEndpoint], [fcall.ErrArgument],
// [fcall.ErrState] (unreadable key) and errors of the context.
//
// A Guard and its decisions are safe for concurrent use.
package guard
