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
