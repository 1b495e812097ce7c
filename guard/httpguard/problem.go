package httpguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/internal/fields"
)

// Problem types of draft-ietf-httpapi-ratelimit-headers-11, section 7.
const (
	quotaExceeded   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	reducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// A Problem is why a request is not let through: the body of its answer, after RFC 9457.
type Problem struct {
	Type    string
	Status  int
	Error   string // "rate_limited", see the package's documentation
	Message string // for people
	// RetryAfter is how long waiting helps: 5.987654 s, told as 6. 0 where it does not.
	RetryAfter time.Duration
	Violated   []string        // names of the limits and budgets that refuse
	Decision   *guard.Decision // nil without one
	Cause      error           // what went wrong, never told to the client
}

// problemFor is the problem of a refusal.
func problemFor(d *guard.Decision) *Problem {
	p := &Problem{Type: quotaExceeded, Status: http.StatusTooManyRequests, RetryAfter: d.RetryAfter, Decision: d}
	switch d.Reason {
	case guard.ReasonBlocked:
		p.Error, p.Message = "blocked", "This client is blocked"
	case guard.ReasonAttempts:
		p.Error, p.Message = "too_many_attempts", "Too many attempts"
	case guard.ReasonBudget, guard.ReasonPenalty:
		p.Error, p.Message = "cost_exceeded", "The budget is used up"
	case guard.ReasonTooLarge:
		p.Error, p.Message = "cost_exceeded", "The request costs more than the whole budget"
	case guard.ReasonDenied:
		return &Problem{Status: http.StatusForbidden, Error: "denied", Message: "This client is not served.", Decision: d}
	case guard.ReasonChallenge:
		p = &Problem{Status: http.StatusForbidden, Error: "challenge_invalid", Message: "The challenge is not valid: ask for a new one.", Decision: d}
		if d.Challenge == "absent" {
			p.Error, p.Message = "challenge_required", "The request needs a challenge."
		}
		return p
	default:
		p.Error, p.Message = "rate_limited", "Too many requests"
	}
	if p.RetryAfter > 0 {
		p.Message += fmt.Sprintf(": try again in %s.", inWords(fields.Seconds(p.RetryAfter)))
	} else {
		p.Message += "."
	}
	for i := range d.Limits {
		if l := &d.Limits[i]; !l.Allowed && !l.Shadow && !l.Global {
			p.Violated = append(p.Violated, l.Name)
		}
	}
	for i := range d.Budgets {
		if !d.Budgets[i].Allowed {
			p.Violated = append(p.Violated, d.Budgets[i].Name)
		}
	}
	return p
}

// problemOf is the problem of an error.
func problemOf(err error) *Problem {
	p := &Problem{Status: http.StatusInternalServerError, Error: "limiter_failed", Message: "The request could not be decided.", Cause: err}
	switch {
	case errors.Is(err, guard.ErrUnavailable):
		p.Type, p.Status, p.Error, p.Message = reducedCapacity, http.StatusServiceUnavailable, "limiter_unavailable", "The service can not count requests right now: try again soon."
		p.RetryAfter = time.Second
	case errors.Is(err, context.DeadlineExceeded): // the request's own
		p.Status, p.Error, p.Message = http.StatusServiceUnavailable, "timeout", "The request's time is over."
	case errors.Is(err, fcall.ErrReply), errors.Is(err, fcall.ErrState):
		p.Error, p.Message = "limiter_unreadable", "The limiter's answer can not be read."
	case errors.Is(err, fcall.ErrArgument):
		p.Status, p.Error, p.Message = http.StatusBadRequest, "bad_request", "The request's ID, challenge or cost is out of bounds."
	}
	return p
}

func (m *Middleware) refuse(w http.ResponseWriter, r *http.Request, p *Problem) {
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(fields.Seconds(p.RetryAfter), 10))
	}
	if m.options.Refused != nil {
		m.options.Refused(w, r, p)
		return
	}
	p.ServeHTTP(w, r)
}

// ServeHTTP answers with the problem.
func (p *Problem) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_ = json.NewEncoder(w).Encode(p) // the client may have gone
	}
}

// MarshalJSON writes the body of RFC 9457.
func (p *Problem) MarshalJSON() ([]byte, error) {
	body := struct {
		Type     string   `json:"type"`
		Title    string   `json:"title"`
		Status   int      `json:"status"`
		Detail   string   `json:"detail"`
		Error    string   `json:"error"`
		Message  string   `json:"message"`
		Seconds  *int64   `json:"retry_after_seconds,omitempty"`
		Context  *waiting `json:"context,omitempty"`
		Violated []string `json:"violated-policies,omitempty"`
	}{p.Type, http.StatusText(p.Status), p.Status, p.Message, p.Error, p.Message, nil, nil, p.Violated}
	if body.Type == "" {
		body.Type = "about:blank"
	}
	if p.RetryAfter > 0 {
		s := fields.Seconds(p.RetryAfter)
		body.Seconds, body.Context = &s, &waiting{s}
	}
	return json.Marshal(body)
}

type waiting struct {
	RetryAfter int64 `json:"retryAfter"`
}

func inWords(seconds int64) string {
	switch {
	case seconds == 1:
		return "1 second"
	case seconds < 120:
		return fmt.Sprintf("%d seconds", seconds)
	case seconds < 7200:
		return fmt.Sprintf("%d minutes", (seconds+59)/60)
	case seconds < 172800:
		return fmt.Sprintf("%d hours", (seconds+3599)/3600)
	}
	return fmt.Sprintf("%d days", (seconds+86399)/86400)
}
