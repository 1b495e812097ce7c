package envoyguard

import (
	"context"
	"errors"
	"fmt"
	"slices"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/internal/adapter"
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
	rules *adapter.Followed[*rules]
}

// New returns a service that follows the guard's policy.
func New(g *guard.Guard, o Options) (*RateLimitService, error) {
	rules, err := adapter.Follow(g, func(p *policy.Policy) (*rules, error) { return compile(p, &o) })
	if err != nil {
		return nil, fmt.Errorf("new envoy rate limit service: %w", err)
	}
	return &RateLimitService{guard: g, rules: rules}, nil
}

// ShouldRateLimit decides a request. See the package documentation for what is an answer and what is an error.
func (s *RateLimitService) ShouldRateLimit(ctx context.Context, r *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	if r.GetDomain() == unreadable {
		return rejected(nil, "bad_request"), nil
	}
	if r.GetDomain() == "" || len(r.GetDescriptors()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "the request has no domain or no descriptors")
	}
	rules := s.rules.Current()
	matched := make([]*policy.Descriptor, len(r.Descriptors))
	var request guard.Request
	var c claim
	for i, d := range r.Descriptors {
		rule := rules.match(r.Domain, d)
		if rule == nil {
			continue
		}
		if d.GetIsNegativeHits() {
			return nil, status.Error(codes.Unimplemented, "is_negative_hits is not supported: a decision cannot refund hits")
		}
		matched[i] = rule
		if err := c.add(rules.policy, rule, d); err != nil {
			return rejected(matched, "bad_request"), nil
		}
		if l := d.GetLimit(); l != nil && rules.dynamic[rule.Endpoint] != nil {
			if l.RequestsPerUnit == 0 {
				return closedBy(matched, i, rules.dynamic[rule.Endpoint], l), nil
			}
			rate, ok := rateOf(rule.Endpoint, l)
			if !ok {
				return rejected(matched, "bad_request"), nil
			}
			if !slices.Contains(request.Rates, rate) {
				request.Rates = append(request.Rates, rate) // a second one of the endpoint is an ErrArgument
			}
		}
		if rule.Endpoint != request.Endpoint && !slices.Contains(request.OtherEndpoints, rule.Endpoint) {
			if request.Endpoint == "" {
				request.Endpoint = rule.Endpoint
			} else {
				request.OtherEndpoints = append(request.OtherEndpoints, rule.Endpoint)
			}
		}
		hits := uint64(r.HitsAddend)
		if own := d.GetHitsAddend(); own != nil {
			hits = own.Value
		}
		request.Weight = max(request.Weight, weight(hits))
	}
	if request.Endpoint == "" {
		if rules.policy.Unmatched == policy.UnmatchedRefuse {
			return rejected(make([]*policy.Descriptor, len(matched)), "not_found"), nil
		}
		return unlimited(len(matched)), nil
	}
	var err error
	if request.Subjects, request.Also, err = c.read(rules.reader); err != nil {
		return rejected(matched, "bad_request"), nil
	}
	d, err := s.guard.Decide(ctx, request)
	switch {
	case err == nil:
		d.Count() // the response is not known here
		d.FinishSoon(ctx, false)
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

// weight returns the weight of a number of hits. One above the bounds of guard stays above them.
func weight(hits uint64) int64 {
	const tooMany = 1_000_001
	return int64(max(min(hits, tooMany), 1))
}

var _ ratelimitv3.RateLimitServiceServer = (*RateLimitService)(nil)
