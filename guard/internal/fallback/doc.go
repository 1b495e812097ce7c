// Package fallback is what decides while Redis does not: breakers that leave a node alone, the limits' contracts, and the engine of this
// process.
package fallback
