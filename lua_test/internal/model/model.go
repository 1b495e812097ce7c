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

import (
	"errors"
	"time"
)

// ErrArgument is the answer to arguments that contradict each other: RLARG.
var ErrArgument = errors.New("an argument is outside the bounds that another one sets")

// microseconds is a duration as it goes over the wire: rounded up.
func microseconds(d time.Duration) int64 {
	return int64((d + time.Microsecond - 1) / time.Microsecond)
}

// milliseconds is a duration on the wire, rounded up to a millisecond.
func milliseconds(d time.Duration) int64 { return (microseconds(d) + 999) / 1000 }

func duration(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// expiry is the millisecond in which a key expires that is given ttlUS at nowUS. The server counts from the millisecond
// that it is in, and a TTL is rounded up to one.
func expiry(nowUS, ttlUS int64) int64 { return nowUS/1000 + (ttlUS+999)/1000 }

// expired reports whether a key is gone: it is there in the millisecond in which it expires, and gone in the next one.
func expired(nowUS, endMS int64) bool { return nowUS/1000 > endMS }

// A receipt was counted at a time and has paid so much weight, and of accounts so much; so many repeats have passed.
type receipt struct {
	at, paid, repeats, endMS int64
	amounts                  map[costKey]int64 // never changed in place
}

// known says what is known of the receipt that a key has: not what was counted dedup ago or earlier, nor what a wrong clock counted.
func (r receipt) known(now, dedup int64) bool {
	return r.endMS > 0 && now-dedup < r.at && r.at <= now+dedup
}

// paidBy is the receipt after a call that paid so much, as a repeat or for the first time.
func (r receipt) paidBy(paid, now, dedup int64, repeat bool) receipt {
	if repeat {
		r.paid, r.repeats = max(r.paid, paid), r.repeats+1
		return r
	}
	return receipt{at: now, paid: paid, endMS: expiry(now, dedup)}
}
