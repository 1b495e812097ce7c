// Package inspect tells what Redis holds of a guarded subject: as data, and as a page for a person.
//
// Durations are seconds in JSON, times RFC 3339; money is in units of the policy's currency. Everything is read by functions that write
// nothing, in a few round trips: what changes between them may show.
package inspect
