package httpguard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/internal/web"
)

// Problem types of draft-ietf-httpapi-ratelimit-headers-11, section 7.
const (
	quotaExceeded   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	reducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// A Problem is the response to a request that may not pass, as an RFC 9457 body.
type Problem struct {
	Type    string
	Status  int
	Error   string // such as "rate_limited"; see the package documentation
	Message string // a sentence for people
	// RetryAfter is how long the client is told to wait, for example 5.987654 s; the response says 6. It is that of the Decision and the
	// policy's retry_jitter, and 0 if waiting does not help.
	RetryAfter time.Duration
	Violated   []string        // names of limits and budgets that refuse
	Decision   *guard.Decision // nil if there is none
	Cause      error           // never sent to the client
}

// problemFor returns the problem of a refusal, and the wait that its client is told.
func problemFor(d *guard.Decision, wait time.Duration) *Problem {
	name, text, advice := web.Refusal(d, "request")
	p := &Problem{Type: quotaExceeded, Status: http.StatusTooManyRequests, Error: name, RetryAfter: wait, Decision: d}
	forbidden := d.Reason == guard.ReasonDenied || d.Reason == guard.ReasonChallenge
	if forbidden {
		p.Type, p.Status, p.RetryAfter = "", http.StatusForbidden, 0
	}
	if p.RetryAfter > 0 {
		advice = "Try again in " + inWords(web.Seconds(p.RetryAfter))
	}
	p.Message = text + "."
	if advice != "" {
		p.Message += " " + advice + "."
	}
	if forbidden {
		return p
	}
	for i := range d.Limits {
		if l := &d.Limits[i]; l.Refuses() && !l.Global {
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

// ProblemOf returns the problem of an error of Guard.Decide or of a call.
func ProblemOf(err error) *Problem {
	name, text := web.Failure(err, "request")
	p := &Problem{Status: http.StatusInternalServerError, Error: name, Message: text + ".", Cause: err}
	switch name {
	case web.Unavailable:
		p.Type, p.Status, p.RetryAfter = reducedCapacity, http.StatusServiceUnavailable, time.Second
		p.Message += " Try again in 1 second."
	case web.TimedOut:
		p.Status = http.StatusServiceUnavailable
	case web.BadRequest:
		p.Status = http.StatusBadRequest
	}
	return p
}

// badRequest returns the problem of a request whose endpoint or client guard cannot tell.
func badRequest(err error) *Problem {
	return &Problem{Status: http.StatusBadRequest, Error: "bad_request", Message: web.Sentence(web.Unread(err, "request")) + ".", Cause: err}
}

func (m *Middleware) refuse(w http.ResponseWriter, r *http.Request, p *Problem) {
	if r.Context().Value(onlyForbidden{}) != nil {
		p = p.forbid(w.Header())
	}
	if m.options.Refused != nil {
		p.setRetryAfter(w.Header())
		m.options.Refused(w, r, p)
		return
	}
	p.ServeHTTP(w, r)
}

func (p *Problem) setRetryAfter(h http.Header) {
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(web.Seconds(p.RetryAfter), 10))
	}
}

// ServeHTTP writes the problem as the response.
func (p *Problem) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	p.setRetryAfter(h)
	h.Set("Content-Type", "application/problem+json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_ = json.NewEncoder(w).Encode(p) // fails if the client disconnected
	}
}

// MarshalJSON returns the RFC 9457 body.
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
		s := web.Seconds(p.RetryAfter)
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
