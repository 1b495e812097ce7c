package httpguard

import (
	"net/http"
	"strconv"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Headers is a revision of the rate limit header fields, which are a draft still.
type Headers int

// The revisions.
const (
	// Draft11 is draft-ietf-httpapi-ratelimit-headers-11: RateLimit-Policy: "minute";q=10;w=60 and RateLimit: "minute";r=7;t=53, an
	// item for each limit.
	Draft11 Headers = iota
	// Draft06 is draft-ietf-httpapi-ratelimit-headers-06: RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset, of the limit that
	// has least left.
	Draft06
	// NoHeaders writes none.
	NoHeaders
)

func (h Headers) write(header http.Header, d *guard.Decision) {
	switch h {
	case Draft11:
		writeDraft11(header, d)
	case Draft06:
		writeTightest(header, d, "RateLimit-")
	}
}

func writeXHeaders(header http.Header, d *guard.Decision) { writeTightest(header, d, "X-RateLimit-") }

// shown reports whether a client learns of a limit: not of a global one, nor of a shadow limit.
func shown(l *guard.LimitState) bool { return !l.Global && !l.Shadow }

// quota is the most that a limit lets pass at once.
func quota(l *guard.LimitState) int64 {
	if l.Kind == policy.GCRA && l.Burst > 0 {
		return l.Burst
	}
	return l.Limit
}

// reset is how long until a limit that refuses admits again, and one that admits is as new.
func reset(l *guard.LimitState, age time.Duration) int64 {
	left := l.ResetAfter
	if !l.Allowed {
		left = l.RetryAfter
	}
	return seconds(max(left-age, 0))
}

// writeDraft11 writes structured fields (RFC 9651): names are of the characters that need no escape in a string. A refusal leaves t
// out where the limit admits: Retry-After must not be earlier than any t.
func writeDraft11(header http.Header, d *guard.Decision) {
	var room [2][96]byte // for two limits, as most have
	policies, limits := room[0][:0], room[1][:0]
	for i := range d.Limits {
		l := &d.Limits[i]
		if !shown(l) {
			continue
		}
		if len(limits) > 0 {
			policies, limits = append(policies, ", "...), append(limits, ", "...)
		}
		policies, limits = appendName(policies, l.Name), appendName(limits, l.Name)
		policies = strconv.AppendInt(append(policies, ";q="...), quota(l), 10)
		policies = strconv.AppendInt(append(policies, ";w="...), seconds(l.Window), 10)
		limits = strconv.AppendInt(append(limits, ";r="...), l.Remaining, 10)
		if d.Allowed || !l.Allowed {
			limits = strconv.AppendInt(append(limits, ";t="...), reset(l, d.Age), 10)
		}
	}
	if len(limits) > 0 {
		header.Set("Ratelimit-Policy", string(policies)) // as net/http writes it: another spelling is brought to this one each time
		header.Set("Ratelimit", string(limits))
	}
}

func appendName(b []byte, name string) []byte { return append(append(append(b, '"'), name...), '"') }

// writeTightest writes the fields of the limit that has least left: one that refuses before one that admits, then the longest wait.
func writeTightest(header http.Header, d *guard.Decision, prefix string) {
	var least *guard.LimitState
	for i := range d.Limits {
		if l := &d.Limits[i]; shown(l) && (least == nil || tighter(l, least)) {
			least = l
		}
	}
	if least == nil {
		return
	}
	header.Set(prefix+"Limit", strconv.FormatInt(quota(least), 10))
	header.Set(prefix+"Remaining", strconv.FormatInt(least.Remaining, 10))
	header.Set(prefix+"Reset", strconv.FormatInt(reset(least, d.Age), 10))
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
