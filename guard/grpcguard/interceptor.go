package grpcguard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Options of an Interceptor; the zero value is useful.
type Options struct {
	// Code has the identities and verifiers that the policy leaves to the service: they get the call as an http.Request, with its metadata
	// as headers. Defaults to none.
	Code policy.Code
	// Identity says how keys are fetched, and hears of failures. Defaults to what package identity does.
	Identity identity.Options
	// Estimate is what a call will cost. Defaults to the policy's estimate.
	Estimate func(ctx context.Context, fullMethod string) fcall.Micros
	// Messages names the endpoint of the policy that each message a stream receives is decided for, as the stream's client: its limits,
	// budgets (as estimated) and attempts, with neither receipt nor challenge. A refusal ends the stream with ResourceExhausted. A method for
	// which it returns "" counts once, when the stream begins. Defaults to "" for all.
	Messages func(fullMethod string) string
	// Wait makes calls wait for their turn, as long as their context lasts, in place of a refusal. Defaults to false.
	Wait bool
}

// An Interceptor guards a server's methods. It is safe for concurrent use.
type Interceptor struct {
	guard   *guard.Guard
	options Options
	methods atomic.Pointer[methods] // of the policy that held last
}

// New returns an interceptor.
func New(g *guard.Guard, o Options) (*Interceptor, error) {
	if g == nil {
		return nil, errors.New("new grpc interceptor: guard must not be nil")
	}
	i := &Interceptor{guard: g, options: o}
	m, err := i.compile(g.Policy())
	if err != nil {
		return nil, fmt.Errorf("new grpc interceptor: %w", err)
	}
	i.methods.Store(m)
	g.Require(func(p *policy.Policy) error {
		m, err := i.compile(p)
		if err == nil {
			err = m.reader.Close()
		}
		return err
	})
	return i, nil
}

// Unary is a grpc.UnaryServerInterceptor.
func (i *Interceptor) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	d, _, err := i.admit(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return handler(ctx, req)
	}
	nothing, code := true, codes.Unknown
	ctx = context.WithValue(ctx, contextKey{}, d)
	defer func() { // also when the handler panics
		d.FinishSoon(ctx, nothing)
		respond(ctx, d, code)
	}()
	reply, err := handler(ctx, req)
	nothing, code = err != nil && ctx.Err() != nil, status.Code(err)
	return reply, err
}

// respond says which status code a call ended with.
func respond(ctx context.Context, d *guard.Decision, code codes.Code) {
	d.Respond(ctx, func(r *policy.Responses) bool { return slices.Contains(r.Code, policy.StatusCode(code.String())) })
}

// admit returns the decision that lets a call through and who it is from, nil where the policy says nothing of it, or the error to answer
// with.
func (i *Interceptor) admit(ctx context.Context, method string) (*guard.Decision, *identity.Found, error) {
	methods := i.current()
	e := methods.endpoint(method)
	if e == nil {
		return nil, nil, nil
	}
	who, err := methods.read(ctx)
	if err != nil {
		return nil, nil, invalid(err)
	}
	d, err := i.decide(ctx, i.request(ctx, method, e, who))
	if errors.Is(err, guard.ErrEndpoint) {
		if methods.policy != i.guard.Policy() {
			return i.admit(ctx, method) // the policy was replaced meanwhile
		}
		err = failure(err)
	}
	return d, who, err
}

// decide returns a decision that allows, or the error to answer with; ErrEndpoint as it is.
func (i *Interceptor) decide(ctx context.Context, r guard.Request) (*guard.Decision, error) {
	decide := i.guard.Decide
	if i.options.Wait {
		decide = i.guard.Wait
	}
	d, err := decide(ctx, r)
	switch {
	case d != nil && d.Allowed:
		return d, nil
	case d != nil:
		return nil, refusal(d)
	case errors.Is(err, guard.ErrEndpoint):
		return nil, err
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, status.FromContextError(err).Err()
	}
	return nil, failure(err)
}

func (i *Interceptor) request(ctx context.Context, method string, e *policy.Endpoint, who *identity.Found) guard.Request {
	r := guard.Request{Endpoint: e.Name, Subjects: who.Subjects, Also: who.Also}
	switch id := e.Idempotency; {
	case id == nil:
	case id.Fingerprint:
		r.Receipt = who.Receipt
	default:
		if values := metadata.ValueFromIncomingContext(ctx, strings.ToLower(id.Header)); len(values) == 1 {
			r.Receipt = values[0]
		}
	}
	if r.Receipt != "" {
		r.Receipt = method + " " + r.Receipt
	}
	if c := e.Challenge; c != nil {
		if r.Challenge = first(ctx, c.Header); r.Challenge == "" {
			r.Challenge = who.Challenge
		}
		if c.Payload == policy.PayloadPath {
			r.Payload = method
		}
	}
	if i.options.Estimate != nil {
		r.Estimate = i.options.Estimate(ctx, method)
	}
	return r
}

// first returns a metadata value, "" without one.
func first(ctx context.Context, key string) string {
	if values := metadata.ValueFromIncomingContext(ctx, strings.ToLower(key)); len(values) > 0 {
		return values[0]
	}
	return ""
}

type contextKey struct{}

// FromContext returns the decision that let a call through, to settle what it reserved; nil outside of a guarded handler.
func FromContext(ctx context.Context) *guard.Decision {
	d, _ := ctx.Value(contextKey{}).(*guard.Decision)
	return d
}
