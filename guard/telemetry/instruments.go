package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/guard"
)

// The attributes have a prefix as OpenTelemetry asks for, and because a plain "endpoint" is what Prometheus's operator calls the
// scraped port.
const (
	endpointKey  = attribute.Key("rlfunc.endpoint")
	limitKey     = attribute.Key("rlfunc.limit")
	outcomeKey   = attribute.Key("rlfunc.outcome")
	reasonKey    = attribute.Key("rlfunc.reason")
	fallbackKey  = attribute.Key("rlfunc.fallback")
	cachedKey    = attribute.Key("rlfunc.cached")
	liveKey      = attribute.Key("rlfunc.live")
	shadowKey    = attribute.Key("rlfunc.shadow")
	duplicateKey = attribute.Key("rlfunc.duplicate")
	subjectKey   = attribute.Key("rlfunc.subject")
	refusedKey   = attribute.Key("rlfunc.refused")
	errorKey     = semconv.ErrorTypeKey
	procedureKey = semconv.DBStoredProcedureNameKey
)

// failed is the outcome of what ended with an error, apart from decisions.
const failed = "failed"

// Both durations are held against 2 and 10 ms by the alerts, so those are bounds.
var seconds = []float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1}

type instruments struct {
	decisions, cacheHits            metric.Int64ObservableCounter
	errors, fallbacks, duplicates   metric.Int64Counter
	giveBacks, settlements, reloads metric.Int64Counter
	shadowRefusals, shadowDecisions metric.Int64Counter
	breakers                        metric.Int64UpDownCounter
	decisionDuration, redisDuration metric.Float64Histogram
}

func (in *instruments) make(m metric.Meter) error {
	var all []error
	counter := func(to *metric.Int64Counter, name, unit, description string) {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		*to = c
		all = append(all, err)
	}
	observed := func(to *metric.Int64ObservableCounter, name, description string) {
		c, err := m.Int64ObservableCounter(name, metric.WithUnit("{decision}"), metric.WithDescription(description))
		*to = c
		all = append(all, err)
	}
	histogram := func(to *metric.Float64Histogram, name, description string) {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
			metric.WithExplicitBucketBoundaries(seconds...))
		*to = h
		all = append(all, err)
	}
	observed(&in.decisions, "rlfunc.guard.decisions", "Requests decided about.")
	histogram(&in.decisionDuration, "rlfunc.guard.decision.duration", "Time that a decision took, where it was not answered from memory.")
	histogram(&in.redisDuration, "rlfunc.guard.redis.duration", "Time of a decision spent waiting for Redis, where it was asked.")
	counter(&in.errors, "rlfunc.guard.errors", "{error}", "Decisions that failed or were made without Redis, by what went wrong.")
	counter(&in.fallbacks, "rlfunc.guard.fallbacks", "{decision}", "Decisions made without Redis, by how.")
	counter(&in.duplicates, "rlfunc.guard.duplicates", "{decision}", "Requests whose receipt was known, so that nothing was charged.")
	observed(&in.cacheHits, "rlfunc.guard.deny_cache.hits", "Refusals answered from this process's memory.")
	counter(&in.giveBacks, "rlfunc.guard.give_backs", "{call}", "Charges taken back as another part refused; those that failed stay charged until their window ends.")
	counter(&in.settlements, "rlfunc.guard.settlements", "{settlement}", "Reservations settled or cancelled, by what came of it.")
	counter(&in.reloads, "rlfunc.guard.policy.reloads", "{reload}", "Policies that were to replace the one before.")
	counter(&in.shadowRefusals, "rlfunc.guard.shadow.refusals", "{decision}", "Requests that a shadow limit would have refused.")
	counter(&in.shadowDecisions, "rlfunc.guard.shadow.decisions", "{decision}", "Requests that a shadow policy decided too, by both answers.")
	b, err := m.Int64UpDownCounter("rlfunc.guard.breaker.open", metric.WithUnit("{breaker}"),
		metric.WithDescription("Circuit breakers that are open: Redis is left alone."))
	in.breakers = b
	if err := errors.Join(append(all, err)...); err != nil {
		return err
	}
	in.start()
	return nil
}

// start makes the series that need no endpoint: an alert on an increase does not see the first failure of a series that appears
// with it.
func (in *instruments) start() {
	ctx := context.Background()
	in.breakers.Add(ctx, 0)
	zero := func(c metric.Int64Counter, key attribute.Key, values ...string) {
		for _, v := range values {
			c.Add(ctx, 0, metric.WithAttributes(key.String(v)))
		}
	}
	for _, k := range kinds {
		zero(in.errors, errorKey, k.name)
	}
	zero(in.errors, errorKey, otherKind)
	zero(in.fallbacks, fallbackKey, string(guard.FallbackOpen), string(guard.FallbackLocal))
	zero(in.giveBacks, outcomeKey, "given_back", failed)
	zero(in.reloads, outcomeKey, "loaded", failed)
	zero(in.settlements, outcomeKey, failed,
		string(cost.SettleOutcomeSettled), string(cost.SettleOutcomeRepeated), string(cost.SettleOutcomeLate),
		string(cost.SettleOutcomeUnknown), string(cost.CancelOutcomeCancelled), string(cost.CancelOutcomeLapsed))
}
