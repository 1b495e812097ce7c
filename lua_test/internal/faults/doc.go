// Package faults breaks servers while services call them, and compares the results with the limits' guarantees.
// docs/reference/faults.md is its table.
package faults
