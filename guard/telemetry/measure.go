package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/rlfunc/rlfunc/guard"
)

// measure counts a decision. A cached refusal only increments two atomic counters, which observe reads at each collection.
func (t *Telemetry) measure(ctx context.Context, e *guard.Event, s *series) {
	s.count.Add(1)
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
	for i := range d.Limits {
		if l := &d.Limits[i]; l.Shadow && !l.Allowed {
			in.shadowRefusals.Add(ctx, 1, t.shadows.of(shadowLimitKey{s.key.endpoint, l.Name})...)
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
func failureOf(e *guard.Event) error {
	if e.Err != nil {
		return e.Err
	}
	return e.Decision.Cause
}

func (t *Telemetry) measureBreaker(open bool) {
	n := int64(-1)
	if open {
		n = 1
	}
	t.instruments.breakers.Add(context.Background(), n)
}

// count increments a counter of rare events.
func (t *Telemetry) count(ctx context.Context, c metric.Int64Counter, key attribute.Key, value string) {
	c.Add(ctx, 1, metric.WithAttributes(key.String(value)))
}
