// Package replay reports what a policy would have done to the traffic of an access log.
//
//	report, err := replay.Run(ctx, file, p, replay.Options{})
//	...
//	err = report.WriteText(os.Stdout)
//
// [Run] finds the endpoints of each line by the policy's patterns and the client by its address or user, as the middleware does, and package
// guard decides, on an embedded server with the clock of the log. The [Report] counts allowed and refused
// requests by reason, endpoint, limit, subject and time. It prints as text, JSON and one HTML page.
//
// # Limits of a log
//
// A line has the client's address, and its user if Options.Subject says so. Limits by other identities count no line, and
// the report names them, as it does limits of kind concurrency. Run also skips challenges, and idempotency unless a
// JSON line has the request's id. It charges budgets the endpoint's estimate. A limit that counts only some responses counts by the
// line's status.
//
// # Clock
//
// The clock never runs backwards. Servers write a line when its request ends, so lines may be out of order: Run decides a line at the
// time of the latest line before it. It does not decide a line that is more than Options.Late earlier, and reports it.
//
// # Speed
//
// One goroutine reads, one decides and one counts. If no limit counts two clients together, as many decide as there are processors.
package replay
