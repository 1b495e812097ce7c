// Package faults breaks servers while services call them, and holds what came of it against what the limits promise.
// docs/faults.md is its table.
package faults
