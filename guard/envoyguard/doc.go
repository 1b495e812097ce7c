// Package envoyguard answers the rate limit requests of Envoy from a guard: envoy.service.ratelimit.v3.RateLimitService.
//
//	s, err := envoyguard.New(g, envoyguard.Options{})
//	...
//	server := grpc.NewServer(envoyguard.ServerOption())
//	ratelimitv3.RegisterRateLimitServiceServer(server, s)
//
// The descriptors section of the policy maps each descriptor to an endpoint and to identities. All descriptors of a request are decided
// together: all are charged, or none is. A descriptor that the policy does not map is OK, and not limited. If the policy has
// unmatched: refuse, a request without a mapped descriptor is over its limit.
//
// A limit that Envoy sends with a descriptor is ignored: the policy decides.
//
// hits_addend of a descriptor with a unit is an amount of it: 0 checks the budgets of that unit, see guard.Request.Unreserved, and any other is
// recorded by guard.Guard.Record, as Envoy sends it at the end of a stream.
//
// By default Envoy lets a request pass whose rate limit request fails. So the answer is OVER_LIMIT and not an error if a client could cause
// it: an address or a key that cannot be read, two values of one identity, text that is not UTF-8; also if a limit is not decided whose
// failure mode is closed, and if a key in Redis is unreadable. The dynamic metadata then has the key error.
//
// A RateLimitService is safe for concurrent use.
package envoyguard
