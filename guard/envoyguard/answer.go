package envoyguard

import (
	"math"
	"strconv"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
)

const (
	ok        = ratelimitv3.RateLimitResponse_OK
	overLimit = ratelimitv3.RateLimitResponse_OVER_LIMIT
)

// unlimited returns the answer to descriptors that the policy does not map.
func unlimited(n int) *ratelimitv3.RateLimitResponse {
	r := &ratelimitv3.RateLimitResponse{OverallCode: ok, Statuses: make([]*ratelimitv3.RateLimitResponse_DescriptorStatus, n)}
	for i := range r.Statuses {
		r.Statuses[i] = &ratelimitv3.RateLimitResponse_DescriptorStatus{Code: ok}
	}
	return r
}

// rejected returns the answer to a request that is not decided and must not pass. reason is as in package httpguard.
func rejected(matched []*rule, reason string) *ratelimitv3.RateLimitResponse {
	r := unlimited(len(matched))
	r.OverallCode = overLimit
	for i, rule := range matched {
		if rule != nil {
			r.Statuses[i].Code = overLimit
		}
	}
	setError(r, reason)
	if reason == "limiter_unavailable" {
		addHeader(r, "retry-after", "1")
	}
	return r
}

func setError(r *ratelimitv3.RateLimitResponse, reason string) {
	r.DynamicMetadata = &structpb.Struct{Fields: map[string]*structpb.Value{"error": structpb.NewStringValue(reason)}}
}

// answer returns the answer of a decision by a policy, for the rules that its descriptors matched.
func answer(p *policy.Policy, d *guard.Decision, matched []*rule) *ratelimitv3.RateLimitResponse {
	r := unlimited(len(matched))
	named := false // a descriptor names the limit that refuses
	for i, rule := range matched {
		if rule != nil && fill(r.Statuses[i], d, rule.Endpoint) {
			named = true
		}
	}
	if limits, policies := web.RateLimit(d); limits != "" {
		addHeader(r, "ratelimit", limits)
		addHeader(r, "ratelimit-policy", policies)
	}
	if d.Allowed {
		return r
	}
	r.OverallCode = overLimit
	for i, rule := range matched {
		if rule != nil && !named {
			r.Statuses[i].Code = overLimit
		}
	}
	setError(r, string(d.Reason))
	if wait := web.RetryAfter(p, d); wait > 0 {
		addHeader(r, "retry-after", strconv.FormatInt(web.Seconds(wait), 10))
	}
	return r
}

// fill sets the status of a descriptor from the limits of its endpoint and of the whole policy: the tightest one that clients may see. It
// reports whether one of them refuses.
func fill(s *ratelimitv3.RateLimitResponse_DescriptorStatus, d *guard.Decision, endpoint string) bool {
	of := guard.Decision{Allowed: d.Allowed, Age: d.Age}
	for i := range d.Limits {
		l := &d.Limits[i]
		if l.Endpoint != "" && l.Endpoint != endpoint {
			continue
		}
		if l.Refuses() {
			s.Code = overLimit
		}
		of.Limits = append(of.Limits, *l)
	}
	if l := web.TightestLimit(&of); l != nil {
		s.CurrentLimit = &ratelimitv3.RateLimitResponse_RateLimit{Name: name(l), RequestsPerUnit: small(l.Limit), Unit: unit(l.Window)}
		s.LimitRemaining = small(l.Remaining)
		left := l.ResetAfter
		if !l.Allowed {
			left = l.RetryAfter
		}
		s.DurationUntilReset = durationpb.New(max(left-d.Age, 0))
	}
	return s.Code == overLimit
}

func name(l *guard.LimitState) string {
	if l.Endpoint == "" {
		return l.Name
	}
	return l.Endpoint + "/" + l.Name
}

func small(n int64) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }

const day = 24 * time.Hour

// unit returns the unit of a window; UNKNOWN if Envoy has none of this length.
func unit(window time.Duration) ratelimitv3.RateLimitResponse_RateLimit_Unit {
	switch window {
	case time.Second:
		return ratelimitv3.RateLimitResponse_RateLimit_SECOND
	case time.Minute:
		return ratelimitv3.RateLimitResponse_RateLimit_MINUTE
	case time.Hour:
		return ratelimitv3.RateLimitResponse_RateLimit_HOUR
	case day:
		return ratelimitv3.RateLimitResponse_RateLimit_DAY
	case 7 * day:
		return ratelimitv3.RateLimitResponse_RateLimit_WEEK
	case 30 * day:
		return ratelimitv3.RateLimitResponse_RateLimit_MONTH
	case 365 * day:
		return ratelimitv3.RateLimitResponse_RateLimit_YEAR
	}
	return ratelimitv3.RateLimitResponse_RateLimit_UNKNOWN
}

func addHeader(r *ratelimitv3.RateLimitResponse, key, value string) {
	r.ResponseHeadersToAdd = append(r.ResponseHeadersToAdd, &corev3.HeaderValue{Key: key, Value: value})
}
