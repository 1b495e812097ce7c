package telemetry

import (
	"context"
	"errors"
	"iter"
	"maps"
	"sync"
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
func endpointOf(e *guard.Decided) string {
	if e.Err != nil && errors.Is(e.Err, guard.ErrEndpoint) {
		return "other"
	}
	return e.Request.Endpoint
}

func keyOf(e *guard.Decided) seriesKey {
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
			if l.Refuses() && l.Global == (d.Reason == guard.ReasonGlobal) && l.RetryAfter > longest {
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

// A shadowKey holds the labels of what a shadow limit would have refused.
type shadowKey struct{ endpoint, limit string }

func newShadow(key shadowKey) []metric.AddOption {
	return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(endpointKey.String(key.endpoint), limitKey.String(key.limit)))}
}

// measure counts a decision. A cached refusal only increments two atomic counters, which observe reads at each collection.
func (t *Telemetry) measure(ctx context.Context, e *guard.Decided, s *series) {
	s.count.Add(1)
	if e.Undefined != "" {
		t.instruments.undefined.Add(ctx, 1)
	}
	if e.Decision != nil && e.Decision.Cached {
		s.endpoint.cacheHits.Add(1)
		return
	}
	in := &t.instruments
	in.decisionDuration.Record(ctx, e.Duration.Seconds(), s.duration...)
	if e.Redis > 0 {
		in.redisDuration.Record(ctx, e.Redis.Seconds(), s.endpoint.record...)
	}
	if err := failureOf(e); err != nil {
		t.count(ctx, in.errors, errorKey, kindOf(err))
	}
	d := e.Decision
	if d == nil {
		return
	}
	if d.Fallback != guard.FallbackNone {
		t.count(ctx, in.fallbacks, fallbackKey, string(d.Fallback))
	}
	if d.Duplicate {
		in.duplicates.Add(ctx, 1, s.endpoint.add...)
	}
	for i := range d.Budgets {
		if d.Allowed && d.Budgets[i].Warned {
			t.count(ctx, in.warnings, limitKey, d.Budgets[i].Name)
		}
	}
	for i := range d.Limits {
		if l := &d.Limits[i]; l.Shadow && !l.Allowed {
			in.shadowRefusals.Add(ctx, 1, t.shadows.of(shadowKey{endpoint: s.key.endpoint, limit: l.Name})...)
		}
	}
}

func (t *Telemetry) observe(_ context.Context, o metric.Observer) error {
	for s := range t.series.all() {
		o.ObserveInt64(t.instruments.decisions, s.count.Load(), s.decision)
	}
	for e := range t.endpoints.all() {
		o.ObserveInt64(t.instruments.cacheHits, e.cacheHits.Load(), e.set)
	}
	return nil
}

// failureOf returns the error of a decision, or the cause of one that was made without Redis.
func failureOf(e *guard.Decided) error {
	if e.Err != nil {
		return e.Err
	}
	return e.Decision.Cause
}

// count increments a counter of rare events.
func (t *Telemetry) count(ctx context.Context, c metric.Int64Counter, key attribute.Key, value string) {
	c.Add(ctx, 1, metric.WithAttributes(key.String(value)))
}

// A table creates and keeps one value for each key. Reads take no lock. The names of the policy bound the number of keys.
type table[K comparable, V any] struct {
	values atomic.Pointer[map[K]V]
	create func(K) V
	mu     sync.Mutex
}

func newTable[K comparable, V any](create func(K) V) *table[K, V] {
	t := &table[K, V]{create: create}
	t.values.Store(new(map[K]V))
	return t
}

func (t *table[K, V]) of(key K) V {
	if v, ok := (*t.values.Load())[key]; ok {
		return v
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	old := *t.values.Load()
	if v, ok := old[key]; ok {
		return v
	}
	values := make(map[K]V, len(old)+1)
	maps.Copy(values, old)
	values[key] = t.create(key)
	t.values.Store(&values)
	return values[key]
}

func (t *table[K, V]) all() iter.Seq[V] { return maps.Values(*t.values.Load()) }
