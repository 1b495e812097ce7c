package envoyguard

import (
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

const day = 24 * time.Hour

// units are the windows of Envoy's units. With the policy's own, a fixed_window has no more lengths than it keeps apart, so no choice of
// units makes it forget a count.
var units = map[typev3.RateLimitUnit]time.Duration{
	typev3.RateLimitUnit_SECOND: time.Second, typev3.RateLimitUnit_MINUTE: time.Minute, typev3.RateLimitUnit_HOUR: time.Hour,
	typev3.RateLimitUnit_DAY: day, typev3.RateLimitUnit_MONTH: 30 * day, typev3.RateLimitUnit_YEAR: 365 * day,
}

// rateOf returns the rate of a descriptor's limit. It reports false for an unknown unit, and for several units.
func rateOf(endpoint string, l *commonv3.RateLimitDescriptor_RateLimitOverride) (guard.Rate, bool) {
	const tooMany = 1_000_000 // the bound of guard; no dynamic_max is larger
	window, known := units[l.GetUnit()]
	several := l.GetUnitMultiplier() != nil && l.GetUnitMultiplier().GetValue() != 1
	return guard.Rate{Endpoint: endpoint, Limit: min(int64(l.GetRequestsPerUnit()), tooMany), Window: window}, known && !several
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
