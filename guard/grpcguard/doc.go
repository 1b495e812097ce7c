// Package grpcguard puts a guard in front of a gRPC server: one interceptor for unary calls and one for streams, which are decided about
// once, when they begin, however many messages they have. [Options.Messages] adds a decision for each message that a stream receives.
//
// Which endpoint of the policy a call is for is told by the endpoints' match: "/pkg.Service/Method", or "/pkg.Service/*" for all
// methods of a service. Others pass. Who it is from is what the policy's identities say of its metadata, peer and
// certificate. What an allowed call reserved of a budget is settled
// by its handler, see [FromContext], or else counts as estimated. It is given back only when the handler panics, or the caller has gone, before a
// unary handler returned a reply or a stream sent a message or headers.
//
// # Answers
//
//	ResourceExhausted  a limit, a budget or a block refuses; with RetryInfo where waiting helps, and a QuotaFailure that names the
//	                   limits, and ErrorInfo with a reason: RATE_LIMITED, COST_EXCEEDED, TOO_MANY_ATTEMPTS, BLOCKED
//	PermissionDenied   the policy denies the subject, or the challenge is missing or not valid: DENIED, CHALLENGE_REQUIRED,
//	                   CHALLENGE_INVALID
//	Unavailable        Redis does not answer and a limit is closed: LIMITER_UNAVAILABLE, with RetryInfo
//	Internal           what Redis answered can not be read
//	InvalidArgument    the call does not say clearly who it is from
package grpcguard
