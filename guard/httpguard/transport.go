package httpguard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// TransportOptions configures a Transport. The zero value is useful.
type TransportOptions struct {
	// Base sends the requests. Defaults to http.DefaultTransport.
	Base http.RoundTripper
	// Accounts return the account of a request, by the name of an upstream that has account: {func: true}. Defaults to none.
	Accounts map[string]func(*http.Request) string
	// Estimate returns what a request will use of the upstream's budgets. Defaults to the policy's estimates.
	Estimate func(*http.Request) guard.Amounts
	// Usage returns what a request has used, once its response's body was read to the end. documents are those parts of the body that have a field
	// usage: of an event stream the data of the first and the last such event, and of any other response all of it. ok is false if they do not
	// tell. Defaults to what was estimated; see [Tokens].
	Usage func(response *http.Response, documents [][]byte) (used guard.Amounts, ok bool)
	// Weight multiplies the cost of a request for its limits, except that a sliding log counts each request once. Defaults to 1.
	Weight func(*http.Request) int64
}

// A Transport is an [http.RoundTripper] that keeps requests within the limits of the policy's upstreams: it sends none before its account allows it; see
// [guard.Guard.Acquire]. Each request that reaches it counts, also one that a library above sends again, and one that http.Client sends to follow
// a redirect. Requests that match no upstream pass.
//
// A request that may not be sent in time fails with a [*guard.RefusedError], which http.Client wraps in a *url.Error.
//
// A request has its places until its response's body is read to the end or closed, or its context ends, or the garbage collector finds a body that
// nobody closed. What a response says about the limits of its account holds for all processes; see docs/outbound.md.
//
// A Transport is safe for concurrent use.
type Transport struct {
	guard     *guard.Guard
	options   TransportOptions
	upstreams *web.Followed[*outbound]
	learned   rates
}

// NewTransport returns a transport that follows the guard's policy.
func NewTransport(g *guard.Guard, o TransportOptions) (*Transport, error) {
	if o.Base == nil {
		o.Base = http.DefaultTransport
	}
	t := &Transport{guard: g, options: o}
	var err error
	if t.upstreams, err = web.Follow(g, t.compile); err != nil {
		return nil, fmt.Errorf("new http transport: %w", err)
	}
	return t, nil
}

// An outbound is the routes of a policy's upstreams.
type outbound struct{ *web.Upstreams }

// Close has nothing to end.
func (outbound) Close() error { return nil }

func (t *Transport) compile(p *policy.Policy) (*outbound, error) {
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
	all, err := web.NewUpstreams(p)
	return &outbound{all}, err
}

// subject returns the account of a request.
func (t *Transport) subject(u *policy.Upstream, r *http.Request, pattern string) string {
	switch a := u.Account; {
	case a == nil:
		return u.Subject(strings.ToLower(r.URL.Hostname()))
	case a.Header != "":
		return u.SecretSubject(strings.Join(r.Header.Values(a.Header), ","))
	case a.Path != "":
		return u.Subject(web.Wildcard(pattern, r, a.Path))
	}
	return u.Subject(t.options.Accounts[u.Name](r))
}

// RoundTrip sends a request once its account allows it, and again as the policy says. It closes the request's body in any case.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	u, pattern := t.upstreams.Current().Match(r)
	if u == nil {
		return t.options.Base.RoundTrip(r)
	}
	call := guard.Request{Endpoint: u.Name, Subjects: []string{t.subject(u, r, pattern)}}
	if t.options.Estimate != nil {
		estimate := t.options.Estimate(r)
		call.Estimate, call.Units = estimate.Money, estimate.Units
	}
	if t.options.Weight != nil {
		call.Weight = t.options.Weight(r)
	}
	for attempt := 1; ; attempt++ {
		response, pause, err := t.send(r, call)
		if err != nil || !retries(u, r, response, attempt, pause) {
			return response, err
		}
		again := *r
		if r.GetBody != nil {
			if again.Body, err = r.GetBody(); err != nil {
				return response, nil //nolint:nilerr // the response is the better answer
			}
		}
		drain(response.Body)
		if pause == 0 && !sleep(r.Context(), backoff<<attempt) {
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
	backoff    = 100 * time.Millisecond // it doubles with each attempt, if the upstream names no time
)

// sleep reports whether a random time around d passed before the context ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// send sends a request once. It returns the pause that the upstream asks for.
func (t *Transport) send(r *http.Request, call guard.Request) (*http.Response, time.Duration, error) {
	ctx := r.Context()
	call.Rates = t.learned.of(call.Subjects[0])
	d, err := t.guard.Acquire(ctx, call)
	if err != nil {
		closeBody(r)
		return nil, 0, err
	}
	response, err := t.roundTrip(r, d.Charge)
	if err != nil {
		var dial *net.OpError
		d.Charge.End(ctx, guard.End{Gone: errors.As(err, &dial) && dial.Op == "dial"})
		return nil, 0, err
	}
	pause := pauseOf(response, time.Now())
	if pause > 0 {
		_ = t.guard.Pause(ctx, d.Subject, pause) // guard reports the error
	}
	t.learned.learn(call.Subjects[0], ratesOf(call.Endpoint, response.Header))
	if d.Charge != nil {
		t.endWithBody(ctx, response, d.Charge)
	}
	return response, max(pause, 0), nil
}

// roundTrip sends a request with the base, and ends the call if that panics.
func (t *Transport) roundTrip(r *http.Request, charge *guard.Charge) (response *http.Response, err error) {
	defer func() {
		if response == nil && err == nil {
			charge.End(r.Context(), guard.End{})
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
func retries(u *policy.Upstream, r *http.Request, response *http.Response, attempt int, pause time.Duration) bool {
	repeatable := r.Body == nil || r.Body == http.NoBody || r.GetBody != nil
	if u.Retry == nil || attempt >= u.Retry.Attempts || !repeatable || !slices.Contains(u.Retry.Status, response.StatusCode) || pause > *u.MaxWait {
		return false
	}
	for _, name := range []string{"X-Should-Retry", "Stripe-Should-Retry"} {
		if response.Header.Get(name) == "false" {
			return false
		}
	}
	return r.Context().Err() == nil
}

// endWithBody ends a call with its response's body.
func (t *Transport) endWithBody(ctx context.Context, response *http.Response, charge *guard.Charge) {
	status := response.StatusCode // without a reference to the body
	e := guard.End{Gone: status == http.StatusTooManyRequests, Counts: func(r *policy.Responses) bool { return slices.Contains(r.Status, status) }}
	if response.Body == nil || response.Body == http.NoBody {
		charge.End(ctx, e)
		return
	}
	end := &ending{charge: charge, ctx: ctx, end: e}
	b := &body{ReadCloser: response.Body, ending: end}
	if t.options.Usage != nil {
		b.recorder, b.response, b.usage = newRecorder(response), response, t.options.Usage
	}
	b.stop = context.AfterFunc(ctx, func() { end.now(nil) })
	b.found = runtime.AddCleanup(b, func(end *ending) { end.now(nil) }, end)
	response.Body = b
	if w, ok := b.ReadCloser.(io.Writer); ok { // of a response that switches protocols
		response.Body = &writableBody{b, w}
	}
}

// An ending ends a call once.
type ending struct {
	charge *guard.Charge
	ctx    context.Context
	once   sync.Once
	end    guard.End
}

func (e *ending) now(used *guard.Amounts) {
	e.once.Do(func() {
		e.end.Used = used
		e.charge.End(e.ctx, e.end)
	})
}

// A body is that of a response. Nothing that lives longer refers to it, so that the garbage collector finds one that nobody closed.
type body struct {
	io.ReadCloser
	ending *ending
	stop   func() bool
	found  runtime.Cleanup

	mu       sync.Mutex // a body may be closed while it is read
	recorder *recorder  // nil without a Usage
	response *http.Response
	usage    func(*http.Response, [][]byte) (guard.Amounts, bool)
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	if b.recorder != nil {
		b.recorder.write(p[:n])
	}
	b.mu.Unlock()
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

// finish ends the call. read reports whether the body was read to its end.
func (b *body) finish(read bool) {
	b.stop()
	b.found.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.ending.now(nil) // also if usage panics
	if b.recorder != nil {
		if documents := b.recorder.documents(read); len(documents) > 0 {
			if used, ok := b.usage(b.response, documents); ok {
				b.ending.now(&used)
			}
		}
		b.recorder = nil
	}
}

type writableBody struct {
	*body
	io.Writer
}
