package envoyguard

import (
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/rlfunc/rlfunc/guard"
)

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
