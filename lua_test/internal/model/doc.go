// Package model says what the libraries' functions answer, in plain Go: no Redis, no Lua, no cleverness.
//
// A model is written from the headers of the functions, holds its state in slices and maps, and is meant to be
// read in one sitting. The property tests of package luatest hold every engine against it, so it models what a caller can
// tell: replies, and when a key is forgotten.
//
// Each model has the same shape:
//
//   - Move sets the clock, and forgets the keys that have expired by then;
//   - one method for each function, which answers and reports whether any key may have changed;
//   - Expiries lists a subject's keys and the millisecond in which each expires;
//   - Clone copies it, for those who look at what would have happened.
//
// Times are microseconds since 1970, as in the functions. Models are not safe for concurrent use.
package model
