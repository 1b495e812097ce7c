// Package inspect reads what Redis holds for a guarded subject, and prints it as data or as a page.
//
// Durations are seconds in JSON, times RFC 3339; money is in units of the policy's currency. Everything is read by functions that write
// nothing, in a few round trips: what changes between them may show.
package inspect
