package grpcguard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Options configures an Interceptor. The zero value is useful.
type Options struct {
	// Code provides the identities and verifiers that the policy leaves to Go code. They get the call as an http.Request with its metadata
	// as headers. Defaults to none.
	Code policy.Code
	// Identity configures how keys are fetched. Defaults to identity's own defaults.
	Identity identity.Options
	// Headers selects the RateLimit fields: header metadata of an allowed call, trailer metadata of a refused one. Defaults to Draft11.
	Headers Headers
	// XHeaders adds x-ratelimit-limit, x-ratelimit-remaining and x-ratelimit-reset (seconds) of the tightest limit. Defaults to false.
	XHeaders bool
	// Estimate returns the expected cost of a call or of a stream's message in money and in units of the endpoint's budgets. message is the request of a
	// unary call, and nil when a stream begins. Defaults to the policy's estimates, as each of money and the units does that is omitted.
	Estimate func(ctx context.Context, fullMethod string, message any) guard.Amounts
	// Weight multiplies the cost of a call or of a stream's message for its limits, except that a sliding log counts each once; message is
	// as for Estimate. Defaults to 1.
	Weight func(ctx context.Context, fullMethod string, message any) int64
	// Messages returns the endpoint that each message received on a stream of fullMethod counts for. Limits, budgets (as estimated) and
	// attempts of the endpoint apply, but no receipt or challenge; a message has its places of a concurrency only while it is decided. The client stays the same, even after its token expires. A refusal ends
	// the stream with ResourceExhausted. With "", only the begin of the stream counts. Defaults to "" for all methods.
	Messages func(fullMethod string) string
	// Wait delays a refused call until it may pass, as long as its context lasts; see guard.Wait. Defaults to false.
	Wait bool
}

// Headers is a revision of the RateLimit fields, an IETF draft: Draft11, Draft06 or NoHeaders.
type Headers = web.Headers

// The revisions.
const (
	// Draft11 is draft-ietf-httpapi-ratelimit-headers-11. It lists each limit: ratelimit-policy: "minute";q=10;w=60 and ratelimit:
	// "minute";r=7;t=53.
	Draft11 = web.Draft11
	// Draft06 is draft-ietf-httpapi-ratelimit-headers-06: ratelimit-limit, ratelimit-remaining and ratelimit-reset of the tightest limit.
	Draft06 = web.Draft06
	// NoHeaders sends no fields.
	NoHeaders = web.NoHeaders
)

// An Interceptor applies a guard to a server's methods. It is safe for concurrent use.
type Interceptor struct {
	guard   *guard.Guard
	options Options
	methods func() *methods // of the policy in effect
}

// New returns an interceptor that follows the guard's policy.
func New(g *guard.Guard, o Options) (*Interceptor, error) {
	i := &Interceptor{guard: g, options: o}
	err := o.Headers.Check()
	if err == nil {
		i.methods, err = guard.Compile(g, i.compile)
	}
	if err != nil {
		return nil, fmt.Errorf("new grpc interceptor: %w", err)
	}
	return i, nil
}

// Unary is a grpc.UnaryServerInterceptor.
func (i *Interceptor) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if i.methods().exempts(info.FullMethod) {
		return handler(ctx, req)
	}
	d, _, err := i.admit(ctx, info.FullMethod, req)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return handler(ctx, req)
	}
	nothing, got := true, recovered
	ctx = context.WithValue(ctx, contextKey{}, d)
	d.Charge.Keep()
	defer func() { // also if the handler panics
		end(ctx, d, nothing, got)
	}()
	reply, err := handler(ctx, req)
	nothing, got = err != nil && ctx.Err() != nil, []codes.Code{status.Code(err)}
	return reply, err
}

// recovered are the codes that an outer interceptor may make of a panic.
var recovered = []codes.Code{codes.Unknown, codes.Internal}

// end ends a call with its status code, or those that the client may have got.
func end(ctx context.Context, d *guard.Decision, gone bool, got []codes.Code) {
	d.Charge.End(ctx, guard.End{Gone: gone, Counts: func(r *policy.Responses) bool {
		return slices.ContainsFunc(got, func(code codes.Code) bool { return slices.Contains(r.Code, policy.StatusCode(code.String())) })
	}})
}

// admit returns the decision that allows a call and its identities, or the error to answer with. The decision is nil if no endpoint
// matches.
func (i *Interceptor) admit(ctx context.Context, method string, message any) (*guard.Decision, *identity.Found, error) {
	methods := i.methods()
	e, err := methods.endpoint(method)
	if err != nil {
		return nil, nil, invalid(web.Unread(err, "call"))
	}
	if e == nil {
		if methods.policy.Unmatched == policy.UnmatchedRefuse {
			return nil, nil, unmatched()
		}
		return nil, nil, nil
	}
	asked := asRequest(ctx, method)
	call := web.Call{Header: asked.Header, Operation: method}
	call.Estimate, call.Weight = i.measure(ctx, method, message)
	if !i.options.Wait {
		d := i.guard.KnownRefusal(ctx, func() guard.Request {
			who := methods.reader.ReadAddress(asked)
			return call.Request(e, &who)
		})
		if d != nil {
			return nil, nil, i.refuse(ctx, d)
		}
	}
	who, err := methods.reader.Read(asked, nil)
	if err != nil {
		return nil, nil, invalid(web.Unread(err, "call"))
	}
	d, err := i.decide(ctx, call.Request(e, &who))
	if err != nil {
		return nil, nil, err
	}
	_ = grpc.SetHeader(ctx, i.fields(d)) // fails if the service has sent its header
	return d, &who, nil
}

// measure returns the estimate and weight of a call or message.
func (i *Interceptor) measure(ctx context.Context, method string, message any) (estimate guard.Amounts, weight int64) {
	if i.options.Estimate != nil {
		estimate = i.options.Estimate(ctx, method, message)
	}
	if i.options.Weight != nil {
		weight = i.options.Weight(ctx, method, message)
	}
	return estimate, weight
}

// decide returns a decision that allows, or the error to answer with.
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
		return nil, i.refuse(ctx, d)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, status.FromContextError(err).Err()
	case errors.Is(err, guard.ErrUnavailable):
		trailer := metadata.MD{}
		retryAfter(trailer, unavailableFor)
		_ = grpc.SetTrailer(ctx, trailer)
	}
	return nil, failure(err)
}

// fields returns the RateLimit fields of a decision.
func (i *Interceptor) fields(d *guard.Decision) metadata.MD {
	md := metadata.MD{}
	web.GRPC.Write(md, d, i.options.Headers, i.options.XHeaders)
	return md
}

// maxPushback is the longest wait of a pushback: some clients read its milliseconds as an int32.
const maxPushback = math.MaxInt32 * time.Millisecond

// retryAfter adds the wait that a client is told, rounded up: retry-after in seconds if waiting helps, and grpc-retry-pushback-ms (gRFC A6),
// which the retry policies of clients obey. Its -1 has them not retry.
func retryAfter(md metadata.MD, wait time.Duration) {
	pushback := int64(-1)
	if wait > 0 {
		md["retry-after"] = []string{strconv.FormatInt(web.Seconds(wait), 10)}
		if wait <= maxPushback {
			pushback = int64((wait + time.Millisecond - 1) / time.Millisecond)
		}
	}
	md["grpc-retry-pushback-ms"] = []string{strconv.FormatInt(pushback, 10)}
}

// refuse returns the error of a refusal, and sets its trailer.
func (i *Interceptor) refuse(ctx context.Context, d *guard.Decision) error {
	trailer, wait := i.fields(d), web.RetryAfter(i.guard.Policy(), d)
	retryAfter(trailer, wait)
	_ = grpc.SetTrailer(ctx, trailer)
	return refusal(d, wait)
}

// Explain returns how guard would decide a call. It sends nothing to Redis and charges nothing.
func (i *Interceptor) Explain(ctx context.Context, fullMethod string) (*guard.Explanation, error) {
	methods := i.methods()
	if methods.exempts(fullMethod) {
		return &guard.Explanation{Exempt: true}, nil
	}
	endpoint, err := methods.endpoint(fullMethod)
	if endpoint == nil {
		return &guard.Explanation{}, err
	}
	found, err := methods.reader.Read(asRequest(ctx, fullMethod), nil)
	if err != nil {
		return nil, err
	}
	return i.guard.Explain(guard.Request{Endpoint: endpoint.Name, At: endpoint, Subjects: found.Subjects})
}

type contextKey struct{}

// FromContext returns the decision of a call in its handler, to settle its reservation. It is never nil: a call that guard did not decide,
// because it is exempt or no endpoint matches, has one that is allowed, without an endpoint and without a charge.
func FromContext(ctx context.Context) *guard.Decision {
	if d, ok := ctx.Value(contextKey{}).(*guard.Decision); ok {
		return d
	}
	return &guard.Decision{Allowed: true}
}
