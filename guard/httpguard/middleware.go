package httpguard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/internal/incoming"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Options of a Middleware; the zero value is useful.
type Options struct {
	// Code has the identities and verifiers that the policy leaves to the service. Defaults to none.
	Code policy.Code
	// Identity says how keys are fetched, and hears of failures. Defaults to what package identity does.
	Identity identity.Options
	// Headers are the rate limit fields of an answer. Defaults to Draft11.
	Headers Headers
	// XHeaders adds X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset (seconds), of the limit that has least left. Defaults to
	// false.
	XHeaders bool
	// Estimate is what a request will cost. Defaults to the policy's estimate.
	Estimate func(*http.Request) fcall.Micros
	// Weight multiplies what a request takes of its limits. Defaults to 1.
	Weight func(*http.Request) int64
	// Wait makes requests wait for their turn, as long as their context lasts, in place of a refusal. Defaults to false.
	Wait bool
	// Refused answers a request that is not let through; see Problem for what there is to tell. Defaults to the problem itself.
	Refused func(http.ResponseWriter, *http.Request, *Problem)
}

// A Middleware guards handlers. It is safe for concurrent use.
type Middleware struct {
	guard   *guard.Guard
	options Options
	routes  atomic.Pointer[routes] // of the policy that held last
}

// New returns a middleware.
func New(g *guard.Guard, o Options) (*Middleware, error) {
	if g == nil {
		return nil, errors.New("new http middleware: guard must not be nil")
	}
	if o.Headers < Draft11 || o.Headers > NoHeaders {
		return nil, fmt.Errorf("new http middleware: there are no Headers %d", o.Headers)
	}
	m := &Middleware{guard: g, options: o}
	r, err := m.compile(g.Policy())
	if err != nil {
		return nil, fmt.Errorf("new http middleware: %w", err)
	}
	m.routes.Store(r)
	g.Require(func(p *policy.Policy) error {
		r, err := m.compile(p)
		if err == nil {
			err = r.close()
		}
		return err
	})
	return m, nil
}

// Handler guards the requests that the endpoints' match patterns name; all others pass as they are.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	var guarded http.HandlerFunc
	guarded = func(w http.ResponseWriter, r *http.Request) {
		routes := m.current()
		endpoint, others := routes.endpoints(r)
		switch {
		case endpoint != nil:
			m.serve(w, r, next, routes, endpoint, others, guarded)
		case routes.policy.Unmatched == policy.UnmatchedRefuse:
			m.refuse(w, r, &Problem{Status: http.StatusNotFound, Error: "not_found", Message: "There is nothing at this address."})
		default:
			next.ServeHTTP(w, r)
		}
	}
	return guarded
}

// For guards a handler as one endpoint of the policy, whatever its match patterns are. An endpoint that the policy does not name
// answers 500: check with Policy().Endpoint.
func (m *Middleware) For(endpoint string, next http.Handler) http.Handler {
	var guarded http.HandlerFunc
	guarded = func(w http.ResponseWriter, r *http.Request) {
		routes := m.current()
		e, ok := routes.policy.Endpoint(endpoint)
		if !ok {
			m.refuse(w, r, problemOf(fmt.Errorf("%q: %w", endpoint, guard.ErrEndpoint)))
			return
		}
		m.serve(w, r, next, routes, e, nil, guarded)
	}
	return guarded
}

// serve decides about a request for an endpoint; again is for one whose policy was replaced meanwhile.
func (m *Middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler, routes *routes, e *policy.Endpoint, others []string, again http.HandlerFunc) {
	who, err := routes.reader.Read(r, routes.wildcard(r, e))
	if err != nil {
		m.refuse(w, r, &Problem{Status: http.StatusBadRequest, Error: "bad_request", Message: "The request does not say clearly who it is from.", Cause: err})
		return
	}
	d, err := m.decide(r.Context(), m.request(r, routes.policy, e, others, &who))
	switch {
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		panic(http.ErrAbortHandler) // nobody reads an answer
	case errors.Is(err, guard.ErrEndpoint) && routes.policy != m.guard.Policy():
		again(w, r)
		return
	case d == nil:
		m.refuse(w, r, problemOf(err))
		return
	}
	m.writeHeaders(w.Header(), d)
	if !d.Allowed {
		if m.options.Refused != nil {
			d = d.Clone() // it may be edited
		}
		m.refuse(w, r, problemFor(d))
		return
	}
	ctx := context.WithValue(r.Context(), contextKey{}, d)
	if d.Reservation() == "" && !d.Counting() {
		next.ServeHTTP(w, r.WithContext(ctx))
		return
	}
	w, answer := observe(w)
	returned := false
	defer func() { // also when the handler panics
		d.FinishSoon(ctx, !answer.began() && (!returned || ctx.Err() != nil))
		if returned {
			answer.is(http.StatusOK) // net/http writes it
		}
		d.Respond(ctx, func(r *policy.Responses) bool { return slices.Contains(r.Status, int(answer.status.Load())) })
	}()
	next.ServeHTTP(w, r.WithContext(ctx))
	returned = true
}

func (m *Middleware) decide(ctx context.Context, r guard.Request) (*guard.Decision, error) {
	if m.options.Wait {
		return m.guard.Wait(ctx, r)
	}
	return m.guard.Decide(ctx, r)
}

func (m *Middleware) request(r *http.Request, p *policy.Policy, e *policy.Endpoint, others []string, who *identity.Found) guard.Request {
	call := incoming.Call{Header: r.Header, Operation: r.Method, Path: r.URL.Path}
	req := call.Request(p, e, others, who)
	if m.options.Estimate != nil {
		req.Estimate = m.options.Estimate(r)
	}
	if m.options.Weight != nil {
		req.Weight = m.options.Weight(r)
	}
	return req
}

type contextKey struct{}

// FromContext returns the decision that let a request through, to settle what it reserved; nil outside of a guarded handler.
func FromContext(ctx context.Context) *guard.Decision {
	d, _ := ctx.Value(contextKey{}).(*guard.Decision)
	return d
}
