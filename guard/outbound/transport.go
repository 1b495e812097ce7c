// Package outbound keeps a service's calls of other people's APIs within the limits of its policy's upstreams, together with all other processes. A
// [Transport] does that for HTTP; code that does not use HTTP calls [Transport.Acquire]. docs/outbound.md explains both.
package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Options configures a Transport. The zero value is useful.
type Options struct {
	// Base sends the requests. Defaults to http.DefaultTransport.
	Base http.RoundTripper
	// Accounts return the account of a request, by the name of an upstream that has account: {func: true}. Defaults to none.
	Accounts map[string]func(*http.Request) string
	// Estimate returns what a request will use of the upstream's budgets. Defaults to the policy's estimates.
	Estimate func(*http.Request) guard.Amounts
	// Usage returns what a request has used, when its response has ended. documents are the JSON objects of the body that have a field whose name contains
	// usage, or the last one if none has: the whole body, or of a stream of events or an array the first and the last of them. Of an object above 1 MiB they
	// hold only that field. ok is false if they do not tell. Requests then ask for no compression that the body would keep. Defaults to what was estimated; see [Tokens].
	Usage func(response *http.Response, documents [][]byte) (used guard.Amounts, ok bool)
	// Weight multiplies the cost of a request for its limits, except that a sliding log counts each request once. Defaults to 1.
	Weight func(*http.Request) int64
}

// A Transport is an [http.RoundTripper] that keeps requests within the limits of the policy's upstreams: it sends none before its account allows it; see
// [Transport.Acquire]. Each request that reaches it counts, also one that a library above sends again, and one that http.Client sends to follow
// a redirect. Requests that match no upstream pass.
//
// A request that may not be sent in time fails with a [*RefusedError], which http.Client wraps in a *url.Error.
//
// A request has its places until its response's body is read to the end or closed, or its context ends, or the garbage collector finds a body that
// nobody closed. A pause that a response asks for holds for all processes; see docs/outbound.md.
//
// A Transport is safe for concurrent use.
type Transport struct {
	guard     *guard.Guard
	options   Options
	upstreams func() *routes // of the policy in effect
	accounts  accounts
	resources resources
}

// New returns a transport that follows the guard's policy. A process needs one: calls in order of arrival are those of one Transport.
func New(g *guard.Guard, o Options) (*Transport, error) {
	if o.Base == nil {
		o.Base = http.DefaultTransport
	}
	t := &Transport{guard: g, options: o}
	var err error
	if t.upstreams, err = guard.Compile(g, t.compile); err != nil {
		return nil, fmt.Errorf("new outbound transport: %w", err)
	}
	return t, nil
}

func (t *Transport) compile(p *policy.Policy, _ []*guard.Endpoint) (*routes, error) {
	for i := range p.Upstreams {
		if u := &p.Upstreams[i]; u.Account != nil && u.Account.Func && t.options.Accounts[u.Name] == nil {
			return nil, fmt.Errorf("upstreams[%d].account: func is true, but the service registers none: set Accounts[%q]", i, u.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.options.Accounts)) {
		if u, ok := p.Upstream(name); !ok || u.Account == nil || !u.Account.Func {
			return nil, fmt.Errorf("upstream %s: the service registers a func, but the policy does not set account: {func: true}", name)
		}
	}
	return newRoutes(p)
}

// subject returns the account of a request.
func (t *Transport) subject(to *route, r *http.Request) string {
	switch a := to.Account; {
	case a == nil:
		return to.Subject(to.host)
	case a.Header != "":
		return to.SecretSubject(strings.Join(r.Header.Values(a.Header), ","))
	case a.Path != "":
		return to.Subject(web.Segment(to.pattern, to.path, a.Path))
	}
	return to.Subject(t.options.Accounts[to.Name](r))
}

// RoundTrip sends a request once its account allows it, and again as the policy says. It closes the request's body in any case.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	to := t.upstreams().match(r)
	if to.Upstream == nil {
		return t.options.Base.RoundTrip(r)
	}
	call, account := guard.Request{Endpoint: to.Name}, t.subject(&to, r)
	if t.options.Estimate != nil {
		estimate := t.options.Estimate(r)
		call.Estimate, call.Units = estimate.Money, estimate.Units
	}
	if t.options.Weight != nil {
		call.Weight = t.options.Weight(r)
	}
	if t.options.Usage != nil && r.Header["Accept-Encoding"] != nil { // http.Transport asks for gzip itself, and decompresses it
		plain := *r
		plain.Header = r.Header.Clone()
		plain.Header.Del("Accept-Encoding")
		r = &plain
	}
	for attempt := 1; ; attempt++ {
		call.Subjects = t.resources.subjects(account, &to, r.Method)
		response, wait, err := t.send(r, &to, call)
		if err != nil || !retries(to.Upstream, r, response, attempt, wait) {
			return response, err
		}
		again := *r
		if r.GetBody != nil {
			if again.Body, err = r.GetBody(); err != nil {
				return response, nil //nolint:nilerr // the response is the better answer
			}
		}
		drain(response.Body)
		if wait == 0 {
			wait = backoff<<attempt/2 + rand.N(backoff<<attempt)
		} else {
			wait = 0 // the next attempt waits for its account
		}
		if !sleep(r.Context(), wait) {
			closeBody(&again)
			return nil, r.Context().Err()
		}
		r = &again
	}
}

// drain closes a body, and reads what little is left first, so that the connection can be used again.
func drain(body io.ReadCloser) {
	late := time.AfterFunc(maxDrain, func() { _ = body.Close() })
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, body, maxDrained)
	_ = body.Close()
}

const (
	maxDrain   = time.Second
	maxDrained = 64 << 10
	backoff    = 100 * time.Millisecond // on average; it doubles with each attempt, if the upstream names no time
)

// sleep reports whether a time passed before the context ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// send sends a request once. It returns how long the upstream asks to wait.
func (t *Transport) send(r *http.Request, to *route, call guard.Request) (*http.Response, time.Duration, error) {
	ctx := r.Context()
	c, err := t.acquire(ctx, to.Upstream, call)
	if err != nil {
		closeBody(r)
		return nil, 0, err
	}
	var traced trace
	if len(c.Decision.Budgets) > 0 {
		r = r.WithContext(traced.in(ctx))
	}
	response, err := t.roundTrip(r, c)
	if err != nil {
		c.End(ctx, guard.End{Gone: traced.sentNothing(err)})
		return nil, 0, err
	}
	wait := t.learn(ctx, response, to, r.Method, call.Subjects[0])
	if c.Decision.Charge != nil {
		t.endWithBody(ctx, response, c)
	}
	return response, wait, nil
}

// learn pauses what a response asks for. It returns the longest wait.
func (t *Transport) learn(ctx context.Context, response *http.Response, to *route, method, account string) (wait time.Duration) {
	endpoint, segment := to.endpoint(method)
	a := answerOf(response, endpoint, time.Now())
	t.resources.learn(to, endpoint, segment, a.names)
	for _, asked := range a.asks {
		wait = max(wait, asked.wait)
		if asked.name == endpoint {
			t.resources.learn(to, endpoint, endpoint, []string{endpoint})
		}
		_ = t.Pause(ctx, partOf(account, asked.name), asked.wait) // guard reports the error
	}
	return wait
}

// A trace tells whether a base that is an http.Transport has sent anything.
type trace struct{ began, wrote atomic.Bool }

func (t *trace) in(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:          func(string) { t.began.Store(true) },
		WroteHeaderField: func(string, []string) { t.wrote.Store(true) },
		WroteHeaders:     func() { t.wrote.Store(true) },
	})
}

func (t *trace) sentNothing(err error) bool {
	var op *net.OpError
	return t.began.Load() && !t.wrote.Load() || errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
}

// roundTrip sends a request with the base, and ends the call if that panics.
func (t *Transport) roundTrip(r *http.Request, call *Call) (response *http.Response, err error) {
	defer func() {
		if response == nil && err == nil {
			call.End(r.Context(), guard.End{})
		}
	}()
	return t.options.Base.RoundTrip(r)
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// retries reports whether a request is sent again after a response.
func retries(u *policy.Upstream, r *http.Request, response *http.Response, attempt int, wait time.Duration) bool {
	hasBody := r.Body == nil || r.Body == http.NoBody || r.GetBody != nil
	if attempt >= u.Attempts || !hasBody || wait > *u.MaxWait {
		return false
	}
	switch response.StatusCode {
	case http.StatusTooManyRequests: // it was not processed
	case http.StatusServiceUnavailable:
		if !isRepeatable(r.Method) && r.Header.Get("Idempotency-Key") == "" && r.Header.Get("X-Idempotency-Key") == "" {
			return false
		}
	default:
		return false
	}
	for _, name := range []string{"X-Should-Retry", "Stripe-Should-Retry"} {
		if response.Header.Get(name) == "false" {
			return false
		}
	}
	return r.Context().Err() == nil
}

// isRepeatable reports whether a request with a method may be repeated (RFC 9110, section 9.2.2).
func isRepeatable(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return false
}

// endWithBody ends a call with its response's body.
func (t *Transport) endWithBody(ctx context.Context, response *http.Response, call *Call) {
	status := response.StatusCode // without a reference to the body
	e := &ending{call: call, ctx: ctx, end: guard.End{Counts: func(r *policy.Responses) bool { return slices.Contains(r.Status, status) }}}
	succeeded := status/100 == 2 || status == http.StatusSwitchingProtocols
	e.end.Gone = !succeeded
	if t.options.Usage != nil && len(call.Decision.Budgets) > 0 {
		seen := *response
		seen.Body = nil
		e.recorder, e.response, e.usage = newRecorder(response), &seen, t.options.Usage
	}
	if response.Body == nil || response.Body == http.NoBody {
		e.now(true)
		return
	}
	b := &body{ReadCloser: response.Body, ending: e}
	b.stop = context.AfterFunc(ctx, func() { e.now(false) })
	b.found = runtime.AddCleanup(b, func(e *ending) { e.now(false) }, e)
	response.Body = b
	if w, ok := b.ReadCloser.(io.Writer); ok { // of a response that switches protocols
		response.Body = &writableBody{b, w}
	}
}

// An ending ends a call once.
type ending struct {
	call *Call
	ctx  context.Context
	end  guard.End

	mu       sync.Mutex // a body may be closed while it is read
	ended    bool
	recorder *recorder // nil without a Usage
	response *http.Response
	usage    func(*http.Response, [][]byte) (guard.Amounts, bool)
}

// write records a part of the body.
func (e *ending) write(p []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.recorder != nil && !e.ended {
		e.recorder.write(p)
	}
}

// now ends the call. read reports whether the body was read to its end.
func (e *ending) now(read bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return
	}
	e.ended = true
	defer func() { e.call.End(e.ctx, e.end) }() // also if usage panics
	if e.recorder == nil {
		return
	}
	documents, whole := e.recorder.documents(read)
	used, ok := guard.Amounts{}, false
	if len(documents) > 0 {
		used, ok = e.usage(e.response, documents)
	}
	switch {
	case ok && whole:
		e.end.Used = &used
	case ok:
		e.end.Used = e.atLeast(used)
	case e.recorder.unreadable:
		e.end.Unknown = guard.UnknownEncoding
	case !whole:
		e.end.Unknown = guard.UnknownUnread
	default:
		e.end.Unknown = guard.UnknownUntold
	}
}

// atLeast returns what a part of a response told, or the estimate if that is more.
func (e *ending) atLeast(used guard.Amounts) *guard.Amounts {
	return new(e.call.Decision.Charge.Reserved().Most(used))
}

// A body is that of a response. Nothing that lives longer refers to it, so that the garbage collector finds one that nobody closed.
type body struct {
	io.ReadCloser
	ending *ending
	stop   func() bool
	found  runtime.Cleanup
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ending.write(p[:n])
	if err != nil {
		b.finish(err == io.EOF)
	}
	return n, err
}

// Close closes the body.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.finish(false)
	return err
}

func (b *body) finish(read bool) {
	b.stop()
	b.found.Stop()
	b.ending.now(read)
}

type writableBody struct {
	*body
	io.Writer
}

// ErrorHandler is that of a [net/http/httputil.ReverseProxy] with a Transport: it answers 429 with Retry-After to a request that may not be sent in time, 503 if
// the guard cannot decide, and 502 after any other error.
func ErrorHandler(w http.ResponseWriter, r *http.Request, err error) {
	p := &httpguard.Problem{Status: http.StatusBadGateway, Error: "bad_gateway", Message: "The service behind this one did not answer."}
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		p.Status, p.Error, p.RetryAfter = http.StatusTooManyRequests, "upstream_limited", refused.Decision.RetryAfter
		p.Message = "The service behind this one accepts no more requests at the moment."
	case errors.Is(err, guard.ErrUnavailable):
		p = httpguard.ProblemOf(err)
	}
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(web.Seconds(p.RetryAfter), 10))
	}
	p.ServeHTTP(w, r)
}
