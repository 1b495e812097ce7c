// Package inspect reads the state of a guarded subject from Redis, and prints it as JSON or text.
//
// In JSON, durations are seconds, times are RFC 3339, and money is in units of the policy's currency. Reading takes several round trips
// of read-only functions, so a report may mix states if the subject makes requests meanwhile.
package inspect
