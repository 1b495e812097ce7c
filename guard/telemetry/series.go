package telemetry

import (
	"errors"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/rlfunc/rlfunc/guard"
)

// The outcomes of a decision.
const (
	allowed     = "allowed"
	refused     = "refused"
	unavailable = "unavailable" // failure mode closed, without Redis
	erring      = "error"       // any other error
)

// A seriesKey holds the labels of decisions.
type seriesKey struct {
	endpoint, limit string
	outcome         string
	reason          guard.Reason
}

// A series holds what decisions with the same labels share.
type series struct {
	key      seriesKey
	count    atomic.Int64
	decision metric.MeasurementOption
	duration []metric.RecordOption
	endpoint *endpointSeries
	refusals *sampler
}

// An endpointSeries holds what decisions of the same endpoint share.
type endpointSeries struct {
	cacheHits atomic.Int64
	set       metric.MeasurementOption
	add       []metric.AddOption
	record    []metric.RecordOption
}

// endpointOf returns the endpoint's name. It returns "other" if the policy has no such endpoint, because clients may choose the text.
func endpointOf(e *guard.Event) string {
	if e.Err != nil && errors.Is(e.Err, guard.ErrEndpoint) {
		return "other"
	}
	return e.Request.Endpoint
}

func keyOf(e *guard.Event) seriesKey {
	key := seriesKey{endpoint: endpointOf(e)}
	switch d := e.Decision; {
	case e.Err != nil:
		key.outcome, key.limit = outcomeOf(e.Err)
	case d.Allowed:
		key.outcome = allowed
	default:
		key.outcome, key.reason = refused, d.Reason
		key.limit = refusing(d)
	}
	return key
}

// outcomeOf returns the outcome of an error, and the first closed limit of an unavailable one.
func outcomeOf(err error) (outcome, limit string) {
	var u *guard.UnavailableError
	if !errors.As(err, &u) {
		return erring, ""
	}
	if len(u.Closed) > 0 {
		limit = u.Closed[0]
	}
	return unavailable, limit
}

// refusing returns the limit or budget that refuses for the decision's reason, and of several the one with the longest wait.
func refusing(d *guard.Decision) string {
	name, longest := "", time.Duration(-1)
	switch d.Reason {
	case guard.ReasonLimit, guard.ReasonGlobal:
		for i := range d.Limits {
			l := &d.Limits[i]
			if !l.Allowed && !l.Shadow && l.Global == (d.Reason == guard.ReasonGlobal) && l.RetryAfter > longest {
				name, longest = l.Name, l.RetryAfter
			}
		}
	case guard.ReasonBudget, guard.ReasonTooLarge:
		for i := range d.Budgets {
			if b := &d.Budgets[i]; !b.Allowed && b.RetryAfter > longest {
				name, longest = b.Name, b.RetryAfter
			}
		}
	}
	return name
}

func (t *Telemetry) newSeries(key seriesKey) *series {
	attributes := []attribute.KeyValue{endpointKey.String(key.endpoint), outcomeKey.String(key.outcome)}
	s := &series{
		key: key,
		duration: []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(
			endpointKey.String(key.endpoint), outcomeKey.String(key.outcome),
		))},
		endpoint: t.endpoints.of(key.endpoint),
	}
	if key.limit != "" {
		attributes = append(attributes, limitKey.String(key.limit))
	}
	if key.reason != guard.ReasonNone {
		attributes = append(attributes, reasonKey.String(string(key.reason)))
		s.refusals = t.samplers.of(samplerKey{key.endpoint, string(key.reason)})
	}
	s.decision = metric.WithAttributeSet(attribute.NewSet(attributes...))
	return s
}

func newEndpointSeries(endpoint string) *endpointSeries {
	set := metric.WithAttributeSet(attribute.NewSet(endpointKey.String(endpoint)))
	return &endpointSeries{set: set, add: []metric.AddOption{set}, record: []metric.RecordOption{set}}
}

type shadowLimitKey struct{ endpoint, limit string }

func newShadowLimit(key shadowLimitKey) []metric.AddOption {
	return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(
		endpointKey.String(key.endpoint), limitKey.String(key.limit),
	))}
}

// A comparedKey holds the decisions of the live policy and the shadow policy on one request.
type comparedKey struct{ endpoint, live, shadow string }

func newCompared(key comparedKey) []metric.AddOption {
	return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(
		endpointKey.String(key.endpoint), liveKey.String(key.live), shadowKey.String(key.shadow),
	))}
}

// verdict returns a decision in one word, as in guard.Difference: allowed, the reason of a refusal, or error.
func verdict(e *guard.Event) string {
	switch {
	case e.Err != nil:
		return erring
	case e.Decision.Allowed:
		return allowed
	}
	return string(e.Decision.Reason)
}
