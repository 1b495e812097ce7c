package fcall

import (
	"math"
	"strconv"
	"time"
)

// MaxInt is the largest integer in calls and replies, 2^53: a Lua number holds every integer up to it exactly.
const MaxInt = 1 << 53

// Micros are millionths of any currency.
type Micros int64

// String returns the amount with six decimals, "1.250000".
func (m Micros) String() string {
	u := uint64(m)
	sign := ""
	if m < 0 {
		sign, u = "-", -u
	}
	frac := strconv.FormatUint(1_000_000+u%1_000_000, 10)
	return sign + strconv.FormatUint(u/1_000_000, 10) + "." + frac[1:]
}

// ArgDuration returns a duration in microseconds, rounded up: a wait that is cut short would be refused again.
func ArgDuration(d time.Duration) int64 {
	us := int64(d / time.Microsecond)
	if d%time.Microsecond > 0 {
		us++
	}
	return us
}

// ArgTime returns a time in microseconds since 1970, rounded down and clamped to an int64.
func ArgTime(t time.Time) int64 {
	switch s := t.Unix(); {
	case s > math.MaxInt64/1_000_000-1:
		return math.MaxInt64
	case s < math.MinInt64/1_000_000+1:
		return math.MinInt64
	}
	return t.UnixMicro()
}
