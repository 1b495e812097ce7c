package envoyguard

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
	rules func() *rules // of the policy in effect
}

// New returns a service that follows the guard's policy.
func New(g *guard.Guard, o Options) (*RateLimitService, error) {
	rules, err := guard.Compile(g, func(p *policy.Policy, endpoints []*guard.Endpoint) (*rules, error) { return compile(p, endpoints, &o) })
	if err != nil {
		return nil, fmt.Errorf("new envoy rate limit service: %w", err)
	}
	return &RateLimitService{guard: g, rules: rules}, nil
}

// ShouldRateLimit decides a request. See the package documentation for what is an answer and what is an error.
func (s *RateLimitService) ShouldRateLimit(ctx context.Context, r *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	rules := s.rules()
	var request asked
	matched, got, err := rules.read(r, &request)
	if err != nil || got.GetOverallCode() == overLimit {
		return got, err
	}
	// Envoy waits for 20 ms by default, less than a policy does, and lets requests without an answer pass.
	if deadline, ok := ctx.Deadline(); ok {
		request.Timeout = max(time.Until(deadline)*3/4, 1)
	}
	if got == nil {
		d, failed := s.guard.Decide(ctx, request.Request)
		got, err = decided(ctx, rules, matched, d, failed)
	}
	if request.spent != nil {
		s.record(ctx, rules, &request, got)
	}
	return got, err
}

// decided returns the answer of a decision, or of its error.
func decided(ctx context.Context, rules *rules, matched []*rule, d *guard.Decision, err error) (*ratelimitv3.RateLimitResponse, error) {
	switch {
	case err == nil:
		d.Charge.End(ctx, guard.End{}) // the response is not known here
		return answer(rules.policy, d, matched), nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, status.FromContextError(err).Err()
	}
	name, _ := web.Failure(err, "request")
	return rejected(matched, name), nil
}

// record records what descriptors have spent, and marks in an answer, nil without one, those whose budget is exceeded. Envoy ignores that at the
// end of a stream, but a number that it sends at the start must not be a free pass.
func (s *RateLimitService) record(ctx context.Context, rules *rules, request *asked, got *ratelimitv3.RateLimitResponse) {
	wait := rules.policy.Timeout
	if request.Timeout > 0 {
		wait = min(wait, request.Timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var calls sync.WaitGroup
	reasons := make([]string, len(request.spent))
	for i, spent := range request.spent {
		if len(spent.Units) == 0 {
			continue
		}
		calls.Go(func() {
			switch exceeded, err := s.guard.Record(ctx, spent); {
			case errors.Is(err, fcall.ErrArgument), errors.Is(err, fcall.ErrState):
				reasons[i], _ = web.Failure(err, "request")
			case err != nil:
				reasons[i] = web.Unavailable
			case exceeded:
				reasons[i] = string(guard.ReasonBudget)
			}
		})
	}
	calls.Wait()
	for i, reason := range reasons {
		if reason != "" && got != nil {
			got.Statuses[i].Code, got.OverallCode = overLimit, overLimit
			setError(got, reason)
		}
	}
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
	rules, e := s.rules(), &Explanation{Guard: new(guard.Explanation)}
	var request asked
	matched, undecided, err := rules.read(r, &request)
	e.Guard.Request = request.Request
	if err != nil {
		return nil, err
	}
	for _, rule := range matched {
		index := -1
		if rule != nil {
			index = rule.index
		}
		e.Rules = append(e.Rules, index)
	}
	if undecided != nil {
		e.Answer, e.Guard.Request.At = undecided, nil
		return e, nil
	}
	e.Guard, err = s.guard.Explain(e.Guard.Request)
	return e, err
}
