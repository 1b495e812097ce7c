// Package replay reports what a policy would have done to the traffic of an access log.
//
//	log, err := accesslog.NewReader(file, accesslog.Options{})
//	...
//	report, err := replay.Run(ctx, log, p, replay.Options{})
//	...
//	err = report.WriteText(os.Stdout)
//
// [Run] finds the endpoint of each line by the policy's patterns and the subject by its address or user. It decides each line as
// package guard does, with the same Lua, on embedded servers with the clock of the log. The [Report] counts allowed and refused
// requests by reason, endpoint, limit, subject and time. It prints as text, JSON and one HTML page.
//
// # Limits of a log
//
// A line counts for one identity: the client's address, or the user. Run skips limits by other identities or by a combination, and
// the report names them. A deny of an address also applies to lines with a user. Run also skips challenges, and idempotency unless a
// JSON field has the request's ID. It charges budgets the endpoint's estimate. It never applies failure modes.
//
// # Clock
//
// The clock never runs backwards. Servers write a line when its request ends, so lines may be out of order: Run decides a line at the
// time of the latest line before it. It does not decide a line that is more than Options.Late earlier, and reports it.
//
// # Speed
//
// Run defers calls that cannot be refused until a call for the same subject might be. It also knows the next refusals until the
// retry_after of one, because a refusal writes nothing. Several servers share the subjects. None of this changes a result; a test
// compares with a run that makes one call after the other.
package replay
