package envoyguard

import (
	"math"
	"slices"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// An asked is what a request asks of guard: a decision about all descriptors that are not spent.
type asked struct {
	guard.Request
	spent []guard.Request // by descriptor, to record; those without units are none
}

// read fills in what guard decides and records, and returns the rule of each descriptor, nil without one. It returns an answer to a request that
// guard does not decide.
func (r *rules) read(q *ratelimitv3.RateLimitRequest, request *asked) (
	matched []*rule, undecided *ratelimitv3.RateLimitResponse, err error,
) {
	if q.GetDomain() == unreadable {
		return nil, rejected(nil, "bad_request"), nil
	}
	if q.GetDomain() == "" || len(q.GetDescriptors()) == 0 {
		return nil, nil, status.Error(codes.InvalidArgument, "the request has no domain or no descriptors")
	}
	matched = make([]*rule, len(q.Descriptors))
	var c claim
	for i, d := range q.Descriptors {
		rule := r.match(q.Domain, d)
		if rule == nil {
			continue
		}
		if d.GetIsNegativeHits() {
			return nil, nil, status.Error(codes.Unimplemented, "is_negative_hits is not supported: a decision cannot refund hits")
		}
		matched[i] = rule
		hits := uint64(q.HitsAddend)
		if own := d.GetHitsAddend(); own != nil {
			hits = own.Value
		}
		if rule.Unit != "" && hits > 0 {
			var own claim
			one := guard.Request{Endpoint: rule.Endpoint, At: rule.at, Units: []guard.Amount{{Unit: rule.Unit, N: int64(min(hits, math.MaxInt64))}}}
			if err = own.add(r.policy, rule, d); err == nil {
				one.Subjects, err = own.read(r.reader)
			}
			if err != nil {
				return matched, rejected(matched, "bad_request"), nil
			}
			if request.spent == nil {
				request.spent = make([]guard.Request, len(q.Descriptors))
			}
			request.spent[i] = one
			continue
		}
		if err := c.add(r.policy, rule, d); err != nil {
			return matched, rejected(matched, "bad_request"), nil
		}
		if request.Endpoint != "" && request.Endpoint != rule.Endpoint { // a request is of one endpoint
			return matched, rejected(matched, "bad_request"), nil
		}
		request.Endpoint, request.At = rule.Endpoint, rule.at
		if rule.Unit == "" {
			request.Weight = max(request.Weight, weight(hits))
		} else if !slices.Contains(request.Unreserved, rule.Unit) {
			request.Unreserved = append(request.Unreserved, rule.Unit)
		}
	}
	if request.Endpoint == "" {
		if request.spent == nil && r.policy.Unmatched == policy.UnmatchedRefuse {
			return matched, rejected(make([]*rule, len(matched)), "not_found"), nil
		}
		return matched, unlimited(len(matched)), nil
	}
	if request.Subjects, err = c.read(r.reader); err != nil {
		return matched, rejected(matched, "bad_request"), nil
	}
	return matched, nil, nil
}

// weight returns the weight of a number of hits. One above the bounds of guard stays above them.
func weight(hits uint64) int64 {
	return int64(max(min(hits, agreed.MaxLimit+1), 1))
}
