// Package grpcguard applies a guard to a gRPC server.
//
//	i, err := grpcguard.New(g, grpcguard.Options{})
//	...
//	grpc.NewServer(grpc.UnaryInterceptor(i.Unary), grpc.StreamInterceptor(i.Stream))
//
// The match patterns of the policy select the endpoint of a call: "/pkg.Service/Method", or "/pkg.Service/*" for all methods of a service.
// A method that proxies and servers may read in different ways is answered with InvalidArgument. Other calls pass, unless the policy has
// unmatched: refuse. The policy's identities read metadata, peer address and client certificate.
//
// A stream counts once, when it begins. [Options.Messages] also counts each message that it receives.
//
// A handler finds its decision with [FromContext] and settles the actual cost of the call. Otherwise the reservation counts as estimated.
// The interceptor refunds it if the handler panics or the client disconnects before a unary handler returned a reply or a stream sent a
// message or headers.
//
// # Statuses
//
//	ResourceExhausted  a limit, budget or block refuses: RATE_LIMITED, COST_EXCEEDED, TOO_MANY_ATTEMPTS, BLOCKED; with RetryInfo if
//	                   waiting helps, and a QuotaFailure that names the limits
//	PermissionDenied   the policy denies the client, or the challenge is missing or not valid: DENIED, CHALLENGE_REQUIRED,
//	                   CHALLENGE_INVALID
//	Unavailable        failure mode closed: LIMITER_UNAVAILABLE, with RetryInfo
//	Internal           Redis returned unreadable data: LIMITER_UNREADABLE
//	InvalidArgument    the client could not be identified, or an argument is out of bounds: BAD_REQUEST
//	Unimplemented      no endpoint matches, and the policy has unmatched: refuse: NOT_FOUND
//
// The reason is in ErrorInfo. An allowed call has ratelimit and ratelimit-policy as header metadata, a refused call as trailer metadata,
// with retry-after if waiting helps and grpc-retry-pushback-ms, which retry policies of clients obey; see package httpguard.
//
// An Interceptor is safe for concurrent use.
package grpcguard
