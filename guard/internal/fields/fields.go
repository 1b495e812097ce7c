// Package fields writes the rate limit fields of an answer: headers of HTTP, metadata of gRPC.
package fields

import (
	"strconv"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A Revision is one of the rate limit fields, which are a draft still.
type Revision int

// The revisions.
const (
	Draft11 Revision = iota // draft-ietf-httpapi-ratelimit-headers-11
	Draft06                 // draft-ietf-httpapi-ratelimit-headers-06
	None
)

// visibleToClient reports whether an answer lists a limit.
func visibleToClient(l *guard.LimitState) bool { return !l.Global && !l.Shadow }

// quota is the most that a limit lets pass at once.
func quota(l *guard.LimitState) int64 {
	if l.Kind == policy.GCRA && l.Burst > 0 {
		return l.Burst
	}
	return l.Limit
}

// reset is how long until a limit that refuses admits again, and one that admits has its full capacity.
func reset(l *guard.LimitState, age time.Duration) int64 {
	left := l.ResetAfter
	if !l.Allowed {
		left = l.RetryAfter
	}
	return Seconds(max(left-age, 0))
}

// Seconds rounds up: a client that comes sooner would be refused again.
func Seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// Lists returns RateLimit and RateLimit-Policy of Draft11; "" if a decision has no limit to list. They are structured fields
// (RFC 9651): names are of the characters that need no escape in a string. A refusal omits t where the limit admits:
// Retry-After must not be earlier than any t.
func Lists(d *guard.Decision) (limits, policies string) {
	var room [2][96]byte // for two limits, as most have
	p, r := room[0][:0], room[1][:0]
	for i := range d.Limits {
		l := &d.Limits[i]
		if !visibleToClient(l) {
			continue
		}
		if len(r) > 0 {
			p, r = append(p, ", "...), append(r, ", "...)
		}
		p, r = appendName(p, l.Name), appendName(r, l.Name)
		p = strconv.AppendInt(append(p, ";q="...), quota(l), 10)
		p = strconv.AppendInt(append(p, ";w="...), Seconds(l.Window), 10)
		r = strconv.AppendInt(append(r, ";r="...), l.Remaining, 10)
		if d.Allowed || !l.Allowed {
			r = strconv.AppendInt(append(r, ";t="...), reset(l, d.Age), 10)
		}
	}
	both := string(append(r, p...)) // one allocation
	return both[:len(r)], both[len(r):]
}

func appendName(b []byte, name string) []byte { return append(append(append(b, '"'), name...), '"') }

// Tightest returns the fields of the limit that has least left: one that refuses before one that admits, then the longest wait.
// ok is false if a decision has no limit to list.
func Tightest(d *guard.Decision) (limit, remaining, resetAfter string, ok bool) {
	var least *guard.LimitState
	for i := range d.Limits {
		if l := &d.Limits[i]; visibleToClient(l) && (least == nil || tighter(l, least)) {
			least = l
		}
	}
	if least == nil {
		return "", "", "", false
	}
	return strconv.FormatInt(quota(least), 10), strconv.FormatInt(least.Remaining, 10), strconv.FormatInt(reset(least, d.Age), 10), true
}

func tighter(a, b *guard.LimitState) bool {
	switch {
	case a.Allowed != b.Allowed:
		return !a.Allowed
	case !a.Allowed:
		return a.RetryAfter > b.RetryAfter
	}
	return a.Remaining < b.Remaining
}
