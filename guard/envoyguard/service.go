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
		return answer(rules.policy, d, matched), nil
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

// An Explanation describes how a RateLimitService reads a request.
type Explanation struct {
	// Rules are the indexes of the policy's descriptors that the descriptors of the request match; -1 for none.
	Rules []int
	// Answer is the answer to a request that guard does not decide; nil if it does.
	Answer *ratelimitv3.RateLimitResponse
	// Guard is how guard would decide; only its Request is set if guard does not.
	Guard *guard.Explanation
}

// Explain returns how guard would decide a request. It sends nothing to Redis and charges nothing.
func (s *RateLimitService) Explain(r *ratelimitv3.RateLimitRequest) (*Explanation, error) {
	rules, e := s.rules.Current(), &Explanation{Guard: new(guard.Explanation)}
	matched, undecided, err := rules.read(r, &e.Guard.Request)
	if err != nil {
		return nil, err
	}
	for _, rule := range matched {
		index := -1
		for i := range rules.policy.Descriptors {
			if rule == &rules.policy.Descriptors[i] {
				index = i
			}
		}
		e.Rules = append(e.Rules, index)
	}
	if undecided != nil {
		e.Answer = undecided
		return e, nil
	}
	e.Guard, err = s.guard.Explain(e.Guard.Request)
	return e, err
}
