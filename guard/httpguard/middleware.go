package httpguard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/felixge/httpsnoop"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Options configures a Middleware. The zero value is useful.
type Options struct {
	// Code provides the identities and verifiers that the policy leaves to Go code. Defaults to none.
	Code policy.Code
	// Identity configures how keys are fetched. Defaults to identity's own defaults.
	Identity identity.Options
	// Headers selects the RateLimit header fields. Defaults to Draft11.
	Headers Headers
	// XHeaders adds X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset (seconds) of the tightest limit. Defaults to false.
	XHeaders bool
	// Estimate returns the expected cost of a request in money and in units of its endpoint's budgets, such as the max_tokens of a chat. Another unit is an
	// error. Defaults to the policy's estimates, as each of money and the units does that is omitted.
	Estimate func(*http.Request) guard.Amounts
	// Weight multiplies the cost of a request for its limits, except that a sliding log counts each request once. Defaults to 1.
	Weight func(*http.Request) int64
	// Wait delays a refused request until it may pass, as long as its context lasts; see guard.Wait. Defaults to false.
	Wait bool
	// Refused writes the response to a request that may not pass. Defaults to the problem itself.
	Refused func(http.ResponseWriter, *http.Request, *Problem)
}

// Headers is a revision of the RateLimit header fields, an IETF draft: Draft11, Draft06 or NoHeaders.
type Headers = web.Headers

// The revisions.
const (
	// Draft11 is draft-ietf-httpapi-ratelimit-headers-11. It lists each limit: RateLimit-Policy: "minute";q=10;w=60 and RateLimit:
	// "minute";r=7;t=53.
	Draft11 = web.Draft11
	// Draft06 is draft-ietf-httpapi-ratelimit-headers-06: RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset of the tightest limit.
	Draft06 = web.Draft06
	// NoHeaders writes no fields.
	NoHeaders = web.NoHeaders
)

// A Middleware applies a guard to HTTP handlers. It is safe for concurrent use.
type Middleware struct {
	guard   *guard.Guard
	options Options
	routes  func() *routes // of the policy in effect
}

// New returns a middleware that follows the guard's policy.
func New(g *guard.Guard, o Options) (*Middleware, error) {
	m := &Middleware{guard: g, options: o}
	err := o.Headers.Check()
	if err == nil {
		m.routes, err = guard.Compile(g, m.compile)
	}
	if err != nil {
		return nil, fmt.Errorf("new http middleware: %w", err)
	}
	return m, nil
}

// routes are those of a policy, with the readers of its identities.
type routes struct {
	*web.Routes
	byName map[string]*guard.Endpoint
	reader *identity.Reader
}

// Close ends the refreshes of keys. Requests in progress keep reading.
func (r *routes) Close() error { return r.reader.Close() }

func (m *Middleware) compile(p *policy.Policy, endpoints []*guard.Endpoint) (*routes, error) {
	found, err := web.NewRoutes(p, endpoints)
	if err != nil {
		return nil, err
	}
	byName := map[string]*guard.Endpoint{}
	for _, e := range endpoints {
		byName[e.Name] = e
	}
	reader, err := p.Reader(m.options.Code, m.options.Identity)
	return &routes{found, byName, reader}, err
}

// Handler guards requests that an endpoint of the policy matches. Exempt ones pass, and so do others unless the policy has unmatched: refuse.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		routes := m.routes()
		found, err := routes.Match(r)
		switch {
		case err != nil:
			m.refuse(w, r, badRequest(err))
		case found.Exempt:
			next.ServeHTTP(w, r)
		case found.Endpoint != nil:
			m.serve(w, r, next, routes, found)
		case routes.Policy.Unmatched == policy.UnmatchedRefuse:
			m.refuse(w, r, &Problem{Status: http.StatusNotFound, Error: "not_found", Message: "The service has nothing at this path."})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// For guards a handler as one endpoint of the policy, whatever patterns the endpoint has and the policy exempts. If the policy does not
// have the endpoint, it answers 500; check with Policy().Endpoint.
func (m *Middleware) For(endpoint string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		routes := m.routes()
		e := routes.byName[endpoint]
		if e == nil {
			m.refuse(w, r, ProblemOf(fmt.Errorf("%q: %w", endpoint, guard.ErrEndpoint)))
			return
		}
		m.serve(w, r, next, routes, routes.For(e, r))
	})
}

// serve decides and serves a request.
func (m *Middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler, routes *routes, found web.Match) {
	call := web.Call{Header: r.Header, Operation: r.Method}
	if m.options.Estimate != nil {
		call.Estimate = m.options.Estimate(r)
	}
	if m.options.Weight != nil {
		call.Weight = m.options.Weight(r)
	}
	if !m.options.Wait {
		d := m.guard.KnownRefusal(r.Context(), func() guard.Request {
			who := routes.reader.ReadAddress(r)
			return call.Request(found.Endpoint, &who)
		})
		if d != nil {
			m.writeFields(w.Header(), d)
			m.refuse(w, r, problemFor(d, web.RetryAfter(routes.Policy, d)))
			return
		}
	}
	who, err := routes.Identify(routes.reader, r, found)
	if err != nil {
		m.refuse(w, r, badRequest(err))
		return
	}
	d, err := m.decide(r.Context(), call.Request(found.Endpoint, &who))
	switch {
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		panic(http.ErrAbortHandler) // the client disconnected
	case d == nil:
		m.refuse(w, r, ProblemOf(err))
		return
	}
	m.writeFields(w.Header(), d)
	if !d.Allowed {
		m.refuse(w, r, problemFor(d, web.RetryAfter(routes.Policy, d)))
		return
	}
	ctx := context.WithValue(r.Context(), contextKey{}, d)
	if d.Charge == nil {
		next.ServeHTTP(w, r.WithContext(ctx))
		return
	}
	observed, answer := observe(w)
	returned := false
	d.Charge.Keep()
	defer func() { // also if the handler panics
		gone, got := !answer.began() && (!returned || ctx.Err() != nil), answer.received(ctx, w, returned)
		d.Charge.End(ctx, guard.End{Gone: gone, Counts: func(r *policy.Responses) bool {
			return slices.ContainsFunc(r.Status, func(status int) bool { return slices.Contains(got, status) })
		}})
	}()
	next.ServeHTTP(observed, r.WithContext(ctx))
	returned = true
}

func (m *Middleware) writeFields(header http.Header, d *guard.Decision) {
	web.HTTP.Write(header, d, m.options.Headers, m.options.XHeaders)
}

// DropFields removes the RateLimit fields from the response of a service behind a [net/http/httputil.ReverseProxy]; it is its ModifyResponse. Without
// it, a client of a guarded gateway in front of a guarded service gets two values of one field. Retry-After stays.
func DropFields(response *http.Response) error {
	web.HTTP.Delete(response.Header)
	return nil
}

func (m *Middleware) decide(ctx context.Context, r guard.Request) (*guard.Decision, error) {
	if m.options.Wait {
		return m.guard.Wait(ctx, r)
	}
	return m.guard.Decide(ctx, r)
}

// Explain returns how guard would decide a request. It sends nothing to Redis and charges nothing.
func (m *Middleware) Explain(r *http.Request) (*guard.Explanation, error) {
	routes := m.routes()
	matched, err := routes.Match(r)
	if matched.Exempt || matched.Endpoint == nil {
		return &guard.Explanation{Exempt: matched.Exempt}, err
	}
	found, err := routes.Identify(routes.reader, r, matched)
	if err != nil {
		return nil, err
	}
	return m.guard.Explain(guard.Request{Endpoint: matched.Endpoint.Name, At: matched.Endpoint, Subjects: found.Subjects})
}

type contextKey struct{}

// FromContext returns the decision of a request in its handler, to settle its reservation. It is never nil: a request that guard did not decide,
// because it is exempt or no endpoint matches, has one that is allowed, without an endpoint and without a charge.
func FromContext(ctx context.Context) *guard.Decision {
	if d, ok := ctx.Value(contextKey{}).(*guard.Decision); ok {
		return d
	}
	return &guard.Decision{Allowed: true}
}

// answered holds the status of the response; 0 until it begins. A response begins with a status that is not informational, a byte of the
// body, a flush or a hijack.
type answered struct{ status atomic.Int32 }

func (a *answered) began() bool { return a.status.Load() != 0 }

// is stores the status, once.
func (a *answered) is(status int) { a.status.CompareAndSwap(0, int32(status)) }

// received returns the status that the client got of a handler that returned or panicked, or those that it may have got. Outer handlers
// decide it: one that recovers from a panic answers 500, and one whose time is up 503, as http.TimeoutHandler does, or 504.
func (a *answered) received(ctx context.Context, outer http.ResponseWriter, returned bool) []int {
	tooLate := errors.Is(ctx.Err(), context.DeadlineExceeded)
	switch {
	case a.began() && tooLate:
		if _, err := outer.Write(nil); errors.Is(err, http.ErrHandlerTimeout) {
			return []int{http.StatusServiceUnavailable} // http.TimeoutHandler drops what the handler wrote
		}
	case a.began():
	case !returned:
		return []int{http.StatusInternalServerError}
	case tooLate:
		return []int{http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	default:
		return []int{http.StatusOK} // net/http writes it
	}
	return []int{int(a.status.Load())}
}

// observe wraps w, keeps its optional interfaces, and returns the status of what is written to it.
func observe(w http.ResponseWriter) (http.ResponseWriter, *answered) {
	a := new(answered)
	ok := func() { a.is(http.StatusOK) }
	return httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(next httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(code int) {
				if code >= 200 || code == http.StatusSwitchingProtocols {
					a.is(code)
				}
				next(code)
			}
		},
		Write: func(next httpsnoop.WriteFunc) httpsnoop.WriteFunc {
			return func(b []byte) (int, error) { ok(); return next(b) }
		},
		WriteString: func(next httpsnoop.WriteStringFunc) httpsnoop.WriteStringFunc {
			return func(s string) (int, error) { ok(); return next(s) }
		},
		ReadFrom: func(next httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(src io.Reader) (int64, error) { ok(); return next(src) }
		},
		Flush: func(next httpsnoop.FlushFunc) httpsnoop.FlushFunc {
			return func() { ok(); next() }
		},
		FlushError: func(next httpsnoop.FlushErrorFunc) httpsnoop.FlushErrorFunc {
			return func() error { ok(); return next() }
		},
		Hijack: func(next httpsnoop.HijackFunc) httpsnoop.HijackFunc {
			return func() (net.Conn, *bufio.ReadWriter, error) { a.is(http.StatusSwitchingProtocols); return next() }
		},
	}), a
}
