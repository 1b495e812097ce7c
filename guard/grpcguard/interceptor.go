package grpcguard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/internal/incoming"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Options of an Interceptor; the zero value is useful.
type Options struct {
	// Code has the identities and verifiers that the policy leaves to the service: they get the call as an http.Request, with its metadata
	// as headers. Defaults to none.
	Code policy.Code
	// Identity says how keys are fetched, and hears of failures. Defaults to what package identity does.
	Identity identity.Options
	// Headers are the rate limit fields, as metadata: in the header of an allowed call, in the trailer of a refused one. Defaults to
	// Draft11.
	Headers Headers
	// XHeaders adds x-ratelimit-limit, x-ratelimit-remaining and x-ratelimit-reset (seconds), of the limit that has least left. Defaults to
	// false.
	XHeaders bool
	// Estimate is what a call, or a message of a stream, will cost. A unary call has its request as message; a stream begins with nil.
	// Defaults to the policy's estimate.
	Estimate func(ctx context.Context, fullMethod string, message any) fcall.Micros
	// Weight multiplies what a call, or a message of a stream, takes of its limits; message is as for Estimate. Defaults to 1.
	Weight func(ctx context.Context, fullMethod string, message any) int64
	// Messages names the endpoint of the policy that each message a stream receives is decided for, as the stream's client: its limits,
	// budgets (as estimated) and attempts, with neither receipt nor challenge; also after the client's token has expired. A refusal ends the stream with ResourceExhausted. A method for
	// which it returns "" counts once, when the stream begins. Defaults to "" for all.
	Messages func(fullMethod string) string
	// Sent is the same for each message that the service sends on a stream: a refused one is not sent. With Wait, messages are sent at the
	// pace of their limits. Defaults to "" for all.
	Sent func(fullMethod string) string
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
	if o.Headers < Draft11 || o.Headers > NoHeaders {
		return nil, fmt.Errorf("new grpc interceptor: invalid Headers %d: use Draft11, Draft06 or NoHeaders", o.Headers)
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
	d, _, err := i.admit(ctx, info.FullMethod, req)
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

// admit returns the decision that lets a call through and its sender, nil if no endpoint matches, or the error to answer with.
func (i *Interceptor) admit(ctx context.Context, method string, message any) (*guard.Decision, *identity.Found, error) {
	methods := i.current()
	e, others := methods.endpoints(method)
	if e == nil {
		if methods.policy.Unmatched == policy.UnmatchedRefuse {
			return nil, nil, unmatched()
		}
		return nil, nil, nil
	}
	asked := asRequest(ctx, method)
	who, err := methods.reader.Read(asked, nil)
	if err != nil {
		return nil, nil, invalid(err)
	}
	call := incoming.Call{Header: asked.Header, Operation: method, Path: method}
	r := call.Request(methods.policy, e, others, &who)
	i.measure(ctx, method, message, &r)
	d, err := i.decide(ctx, r)
	switch {
	case errors.Is(err, guard.ErrEndpoint) && methods.policy != i.guard.Policy():
		return i.admit(ctx, method, message) // the policy was replaced meanwhile
	case errors.Is(err, guard.ErrEndpoint):
		return nil, nil, failure(err)
	case err != nil:
		return nil, nil, err
	}
	_ = grpc.SetHeader(ctx, i.fields(d)) // a service that has sent its header does without
	return d, &who, nil
}

// measure sets what a call or a message weighs and will cost.
func (i *Interceptor) measure(ctx context.Context, method string, message any, r *guard.Request) {
	if i.options.Estimate != nil {
		r.Estimate = i.options.Estimate(ctx, method, message)
	}
	if i.options.Weight != nil {
		r.Weight = i.options.Weight(ctx, method, message)
	}
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
		trailer := i.fields(d)
		retryAfter(trailer, d.RetryAfter)
		_ = grpc.SetTrailer(ctx, trailer)
		return nil, refusal(d)
	case errors.Is(err, guard.ErrEndpoint):
		return nil, err
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, status.FromContextError(err).Err()
	case errors.Is(err, guard.ErrUnavailable):
		trailer := metadata.MD{}
		retryAfter(trailer, unavailableFor)
		_ = grpc.SetTrailer(ctx, trailer)
	}
	return nil, failure(err)
}

type contextKey struct{}

// FromContext returns the decision that let a call through, to settle what it reserved; nil outside of a guarded handler.
func FromContext(ctx context.Context) *guard.Decision {
	d, _ := ctx.Value(contextKey{}).(*guard.Decision)
	return d
}
