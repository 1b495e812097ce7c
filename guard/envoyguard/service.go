package envoyguard

import (
	"context"
	"errors"
	"fmt"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/status"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Options configures a RateLimitService. The zero value is useful.
type Options struct {
	// Code provides the verifiers and funcs that the policy leaves to Go code. Defaults to none.
	Code policy.Code
	// Identity configures how keys are fetched. Defaults to identity's own defaults.
	Identity identity.Options
}

// A RateLimitService answers Envoy. It is safe for concurrent use.
type RateLimitService struct {
	ratelimitv3.UnimplementedRateLimitServiceServer

	guard *guard.Guard
	rules *web.Followed[*rules]
}

// New returns a service that follows the guard's policy.
func New(g *guard.Guard, o Options) (*RateLimitService, error) {
	rules, err := web.Follow(g, func(p *policy.Policy) (*rules, error) { return compile(p, &o) })
	if err != nil {
		return nil, fmt.Errorf("new envoy rate limit service: %w", err)
	}
	return &RateLimitService{guard: g, rules: rules}, nil
}

// ShouldRateLimit decides a request. See the package documentation for what is an answer and what is an error.
func (s *RateLimitService) ShouldRateLimit(ctx context.Context, r *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	rules := s.rules.Current()
	var request guard.Request
	matched, undecided, err := rules.read(r, &request)
	if undecided != nil || err != nil {
		return undecided, err
	}
	// Envoy waits for 20 ms by default, less than a policy does, and lets requests without an answer pass.
	if deadline, ok := ctx.Deadline(); ok {
		request.Timeout = max(time.Until(deadline)*3/4, 1)
	}
	d, err := s.guard.Decide(ctx, request)
	switch {
	case err == nil:
		d.Charge.End(ctx, guard.End{}) // the response is not known here
		return answer(d, matched), nil
	case errors.Is(err, guard.ErrEndpoint) && rules != s.rules.Current():
		return s.ShouldRateLimit(ctx, r) // the policy was replaced meanwhile
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, status.FromContextError(err).Err()
	case errors.Is(err, guard.ErrUnavailable):
		return rejected(matched, "limiter_unavailable"), nil
	case errors.Is(err, fcall.ErrArgument):
		return rejected(matched, "bad_request"), nil
	}
	return rejected(matched, "limiter_unreadable"), nil
}

var _ ratelimitv3.RateLimitServiceServer = (*RateLimitService)(nil)
