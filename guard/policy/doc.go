// Package policy is what guard decides by: endpoints and their limits, in Go or in YAML, which are one model.
//
// A policy is written as Go structs or read by [Load]; [Policy.Check] finds everything that is wrong with it at once, and
// [Policy.Complete] gives a copy in which every default is filled in. [Watch] tells of each change of a file.
//
// Durations in YAML are Go's (1m30s) and days (30d), money is decimal text or a number (5, "0.000001"), exact to a
// millionth. Every error is an [*Error], which lists all problems as `file:line:col: path: message`.
//
// docs/policy.md describes each key, schema.json tells an editor about them.
package policy
