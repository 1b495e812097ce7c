// Package grpcguard puts a guard in front of a gRPC server: one interceptor for unary calls and one for streams. A stream counts once, when
// it begins, however many messages it has. [Options.Messages] adds a decision for each message that it receives, [Options.Sent] for each
// that the service sends.
//
// The endpoints' match says which endpoint of the policy a call is for: "/pkg.Service/Method", or "/pkg.Service/*" for all methods of a
// service. A method that a proxy behind may decode or clean is held to each endpoint that it may mean. Others pass, unless the policy has
// unmatched: refuse. The policy's identities say which of the call's metadata, peer and certificate names its client. What an allowed call
// reserved of a budget is settled by its handler, see [FromContext], or else counts as estimated. It is given back only when the handler
// panics, or the caller has gone, before a unary handler returned a reply or a stream sent a message or headers.
//
// # Answers
//
//	ResourceExhausted  a limit, a budget or a block refuses; with RetryInfo where waiting helps, and a QuotaFailure that names the
//	                   limits, and ErrorInfo with a reason: RATE_LIMITED, COST_EXCEEDED, TOO_MANY_ATTEMPTS, BLOCKED
//	PermissionDenied   the policy denies the subject, or the challenge is missing or not valid: DENIED, CHALLENGE_REQUIRED,
//	                   CHALLENGE_INVALID
//	Unavailable        Redis does not answer and a limit is closed: LIMITER_UNAVAILABLE, with RetryInfo
//	Internal           what Redis answered can not be read
//	InvalidArgument    the call does not say clearly who it is from: BAD_REQUEST
//	Unimplemented      no endpoint matches, and the policy has unmatched: refuse: NOT_FOUND
//
// An allowed call has ratelimit and ratelimit-policy as header metadata, a refused one as trailer metadata, with retry-after where waiting
// helps. They are those of package httpguard.
package grpcguard
