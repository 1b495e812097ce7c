package web

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// Headers is a revision of the RateLimit fields, an IETF draft: Draft11, Draft06 or NoHeaders.
type Headers int

// The revisions.
const (
	Draft11 Headers = iota
	Draft06
	NoHeaders
)

// Check returns an error for a number that is none of them.
func (h Headers) Check() error {
	if h < Draft11 || h > NoHeaders {
		return fmt.Errorf("invalid Headers %d: use Draft11, Draft06 or NoHeaders", h)
	}
	return nil
}

// visibleToClient reports whether responses list a limit. A refusal lists only limits that refuse: by the others, a client would wait for
// the wrong time.
func visibleToClient(d *guard.Decision, l *guard.LimitState) bool {
	return !l.Global && !l.Shadow && (d.Allowed || !l.Allowed)
}

// quota returns the most requests that a limit admits at once.
func quota(l *guard.LimitState) int64 {
	if l.Kind == policy.GCRA && l.Burst > 0 {
		return l.Burst
	}
	return l.Limit
}

// reset returns the seconds until a limit that refuses admits again, or until a limit that admits has its full capacity.
func reset(l *guard.LimitState, age time.Duration) int64 {
	left := l.ResetAfter
	if !l.Allowed {
		left = l.RetryAfter
	}
	return Seconds(max(left-age, 0))
}

// Seconds rounds up, because a client that retries earlier would be refused again.
func Seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// RetryAfter returns the wait that the client of a refusal is told: the exact one and the jitter of the policy, drawn for each answer. It is 0
// if waiting does not help.
func RetryAfter(p *policy.Policy, d *guard.Decision) time.Duration {
	return d.RetryAfter + time.Duration(rand.Int64N(int64(max(min(p.RetryJitter, d.RetryAfter), 0))+1))
}

// RateLimit returns RateLimit and RateLimit-Policy of Draft11, or "" if the decision has no visible limit. They are structured fields (RFC
// 9651); names need no escape in a string. A limit of kind concurrency has neither w nor t: it has no window, and its places are free when
// other requests end.
func RateLimit(d *guard.Decision) (limits, policies string) {
	var room [2][96]byte // two limits fit
	p, r := room[0][:0], room[1][:0]
	for i := range d.Limits {
		l := &d.Limits[i]
		if !visibleToClient(d, l) {
			continue
		}
		if len(r) > 0 {
			p, r = append(p, ", "...), append(r, ", "...)
		}
		p, r = appendName(p, l.Name), appendName(r, l.Name)
		p = strconv.AppendInt(append(p, ";q="...), quota(l), 10)
		r = strconv.AppendInt(append(r, ";r="...), l.Remaining, 10)
		if l.Kind == policy.Concurrency {
			p = append(p, `;qu="concurrent-requests"`...)
			continue
		}
		p = strconv.AppendInt(append(p, ";w="...), Seconds(l.Window), 10)
		r = strconv.AppendInt(append(r, ";t="...), reset(l, d.Age), 10)
	}
	both := string(append(r, p...)) // one allocation
	return both[:len(r)], both[len(r):]
}

func appendName(b []byte, name string) []byte { return append(append(append(b, '"'), name...), '"') }

// TightestLimit returns the visible limit with the longest wait or, of a request that may pass, the fewest remaining. It is nil if none has a
// window.
func TightestLimit(d *guard.Decision) *guard.LimitState {
	var least *guard.LimitState
	for i := range d.Limits {
		l := &d.Limits[i]
		if !visibleToClient(d, l) || l.Kind == policy.Concurrency {
			continue
		}
		if least == nil || d.Allowed && l.Remaining < least.Remaining || !d.Allowed && l.RetryAfter > least.RetryAfter {
			least = l
		}
	}
	return least
}

// Names are the names of the fields of a protocol. draft06 and x are those of limit, remaining and reset.
type Names struct {
	limits, policies, warning string
	draft06, x                [3]string
}

// The names, canonical for HTTP so that net/http need not convert them.
var (
	HTTP = Names{
		"Ratelimit", "Ratelimit-Policy", "Budget-Warning",
		[3]string{"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"},
		[3]string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"},
	}
	GRPC = Names{
		"ratelimit", "ratelimit-policy", "budget-warning",
		[3]string{"ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"},
		[3]string{"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"},
	}
)

// BudgetWarning returns the budgets of an admitted request that warn, and how many percent of each are spent: "day";p=83. It is "" without one.
// Budgets of all requests are not for clients.
func BudgetWarning(d *guard.Decision) string {
	var text []byte
	for i := range d.Budgets {
		b := &d.Budgets[i]
		if !d.Allowed || !b.Warned || strings.HasPrefix(b.Subject, agreed.GlobalPrefix) {
			continue
		}
		if text != nil {
			text = append(text, ", "...)
		}
		percent := math.Floor(100 * float64(b.Spent) / float64(b.Budget))
		text = strconv.AppendInt(append(appendName(text, b.Name), ";p="...), int64(percent), 10)
	}
	return string(text)
}

// Delete removes the fields of a decision, of all revisions.
func (n *Names) Delete(from map[string][]string) {
	for _, names := range [][]string{{n.limits, n.policies, n.warning}, n.draft06[:], n.x[:]} {
		for _, name := range names {
			delete(from, name)
		}
	}
}

// Write writes the fields of a decision to headers or metadata: those of a revision, and also the X- fields if x is set.
func (n *Names) Write(to map[string][]string, d *guard.Decision, revision Headers, x bool) {
	if warning := BudgetWarning(d); warning != "" {
		to[n.warning] = []string{warning}
	}
	switch revision {
	case Draft11:
		if limits, policies := RateLimit(d); limits != "" {
			both := [2]string{limits, policies} // one allocation; each has its own capacity
			to[n.limits], to[n.policies] = both[0:1:1], both[1:2:2]
		}
	case Draft06:
		writeTightest(to, &n.draft06, d)
	}
	if x {
		writeTightest(to, &n.x, d)
	}
}

func writeTightest(to map[string][]string, names *[3]string, d *guard.Decision) {
	if l := TightestLimit(d); l != nil {
		for i, n := range [3]int64{quota(l), l.Remaining, reset(l, d.Age)} {
			to[names[i]] = []string{strconv.FormatInt(n, 10)}
		}
	}
}
