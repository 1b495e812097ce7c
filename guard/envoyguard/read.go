package envoyguard

import (
	"math"
	"slices"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/wire"
)

// An asked is what a request asks of guard: a decision about all descriptors that are not spent.
type asked struct {
	guard.Request
	spent []guard.Request // by descriptor, to record; those without units are none
}

// read fills in what guard decides and records, and returns the rule of each descriptor, nil without one. It returns an answer to a request that
// guard does not decide.
func (r *rules) read(q *ratelimitv3.RateLimitRequest, request *asked) (
	matched []*policy.Descriptor, undecided *ratelimitv3.RateLimitResponse, err error,
) {
	if q.GetDomain() == unreadable {
		return nil, rejected(nil, "bad_request"), nil
	}
	if q.GetDomain() == "" || len(q.GetDescriptors()) == 0 {
		return nil, nil, status.Error(codes.InvalidArgument, "the request has no domain or no descriptors")
	}
	matched = make([]*policy.Descriptor, len(q.Descriptors))
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
			one := guard.Request{Endpoint: rule.Endpoint, Units: []guard.Amount{{Unit: rule.Unit, N: int64(min(hits, math.MaxInt64))}}}
			if err = own.add(r.policy, rule, d); err == nil {
				one.Subjects, one.Also, err = own.read(r.reader)
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
		if l := d.GetLimit(); l != nil && r.dynamic[rule.Endpoint] != nil {
			rate, ok := rateOf(rule.Endpoint, l)
			if !ok {
				return matched, rejected(matched, "bad_request"), nil
			}
			if rate.Limit == 0 {
				return matched, closedBy(matched, i, r.dynamic[rule.Endpoint], l), nil
			}
			if slices.ContainsFunc(request.Rates, func(r guard.Rate) bool { return r.Endpoint == rate.Endpoint && r != rate }) {
				return matched, rejected(matched, "bad_request"), nil
			}
			request.Rates = append(request.Rates, rate)
		}
		if rule.Endpoint != request.Endpoint && !slices.Contains(request.OtherEndpoints, rule.Endpoint) {
			if request.Endpoint == "" {
				request.Endpoint = rule.Endpoint
			} else {
				request.OtherEndpoints = append(request.OtherEndpoints, rule.Endpoint)
			}
		}
		if rule.Unit == "" {
			request.Weight = max(request.Weight, weight(hits))
		} else if !slices.Contains(request.Unreserved, rule.Unit) {
			request.Unreserved = append(request.Unreserved, rule.Unit)
		}
	}
	if request.Endpoint == "" {
		if request.spent == nil && r.policy.Unmatched == policy.UnmatchedRefuse {
			return matched, rejected(make([]*policy.Descriptor, len(matched)), "not_found"), nil
		}
		return matched, unlimited(len(matched)), nil
	}
	if request.Subjects, request.Also, err = c.read(r.reader); err != nil {
		return matched, rejected(matched, "bad_request"), nil
	}
	return matched, nil, nil
}

// weight returns the weight of a number of hits. One above the bounds of guard stays above them.
func weight(hits uint64) int64 {
	return int64(max(min(hits, wire.MaxLimit+1), 1))
}

const day = 24 * time.Hour

// units are the windows of Envoy's units. With the policy's own, a fixed_window has no more lengths than it keeps apart, so no choice of
// units makes it forget a count.
var units = map[typev3.RateLimitUnit]time.Duration{
	typev3.RateLimitUnit_SECOND: time.Second, typev3.RateLimitUnit_MINUTE: time.Minute, typev3.RateLimitUnit_HOUR: time.Hour,
	typev3.RateLimitUnit_DAY: day, typev3.RateLimitUnit_MONTH: 30 * day, typev3.RateLimitUnit_YEAR: 365 * day,
}

// rateOf returns the rate of a descriptor's limit. It reports false for an unknown unit, and for several units.
func rateOf(endpoint string, l *commonv3.RateLimitDescriptor_RateLimitOverride) (guard.Rate, bool) {
	window, known := units[l.GetUnit()]
	several := l.GetUnitMultiplier() != nil && l.GetUnitMultiplier().GetValue() != 1
	return guard.Rate{Endpoint: endpoint, Limit: int64(l.GetRequestsPerUnit()), Window: window}, known && !several
}

// closedBy returns the answer to a descriptor whose limit is 0. replaced is the limit of the policy.
func closedBy(matched []*policy.Descriptor, i int, replaced *policy.Limit, l *commonv3.RateLimitDescriptor_RateLimitOverride) *ratelimitv3.RateLimitResponse {
	r := unlimited(len(matched))
	r.OverallCode = overLimit
	r.Statuses[i] = &ratelimitv3.RateLimitResponse_DescriptorStatus{Code: overLimit, CurrentLimit: &ratelimitv3.RateLimitResponse_RateLimit{
		Name: matched[i].Endpoint + "/" + replaced.Name, Unit: unit(units[l.GetUnit()]),
	}}
	setError(r, string(guard.ReasonLimit))
	return r
}
