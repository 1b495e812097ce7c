// Package fallback decides while Redis does not: circuit breakers, failure modes, and the embedded engine of this process.
package fallback
