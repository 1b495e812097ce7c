package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/guard"
)

// Attributes have a prefix, as OpenTelemetry recommends, and because the Prometheus operator sets a label "endpoint" itself.
const (
	endpointKey = attribute.Key("rlfunc.endpoint")
	limitKey    = attribute.Key("rlfunc.limit")
	outcomeKey  = attribute.Key("rlfunc.outcome")
	reasonKey   = attribute.Key("rlfunc.reason")
	fallbackKey = attribute.Key("rlfunc.fallback")
	errorKey    = semconv.ErrorTypeKey
)

// failed is the outcome of refunds, settlements and reloads that ended with an error.
const failed = "failed"

// seconds are the bounds of both histograms. The alerts need bounds at 2 and 10 ms.
var seconds = []float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1}

type instruments struct {
	decisions, cacheHits            metric.Int64ObservableCounter
	errors, fallbacks, duplicates   metric.Int64Counter
	warnings                        metric.Int64Counter
	refunds, settlements, reloads   metric.Int64Counter
	unknown                         metric.Int64Counter
	prefetchCalls, prefetchTokens   metric.Int64Counter
	shadowRefusals                  metric.Int64Counter
	undefined                       metric.Int64Counter
	breakers                        metric.Int64UpDownCounter
	decisionDuration, redisDuration metric.Float64Histogram
}

func (in *instruments) make(m metric.Meter) error {
	var all []error
	counter := func(field *metric.Int64Counter, name, unit, description string) {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		*field = c
		all = append(all, err)
	}
	observed := func(field *metric.Int64ObservableCounter, name, description string) {
		c, err := m.Int64ObservableCounter(name, metric.WithUnit("{decision}"), metric.WithDescription(description))
		*field = c
		all = append(all, err)
	}
	histogram := func(field *metric.Float64Histogram, name, description string) {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
			metric.WithExplicitBucketBoundaries(seconds...))
		*field = h
		all = append(all, err)
	}
	observed(&in.decisions, "rlfunc.guard.decisions", "Decisions.")
	histogram(&in.decisionDuration, "rlfunc.guard.decision.duration", "Duration of decisions, without cached refusals.")
	histogram(&in.redisDuration, "rlfunc.guard.redis.duration", "Time that decisions waited for Redis, without those that did not call it.")
	counter(&in.errors, "rlfunc.guard.errors", "{error}", "Decisions that failed or were made without Redis, by error.")
	counter(&in.fallbacks, "rlfunc.guard.fallbacks", "{decision}", "Decisions made without Redis, by failure mode.")
	counter(&in.warnings, "rlfunc.guard.warnings", "{decision}", "Admitted requests that found a budget spent beyond its warning, by budget.")
	counter(&in.duplicates, "rlfunc.guard.duplicates", "{decision}", "Requests with a known receipt, which pay only what they cost more than before.")
	observed(&in.cacheHits, "rlfunc.guard.deny_cache.hits", "Cached refusals, without a Redis call.")
	counter(&in.refunds, "rlfunc.guard.refunds", "{call}", "Refunds of requests that another limit refused; if one fails, the charge counts until its window ends.")
	counter(&in.settlements, "rlfunc.guard.settlements", "{settlement}", "Settled reservations, by outcome.")
	counter(&in.unknown, "rlfunc.guard.unknown_usages", "{settlement}", "Settlements of estimates because it is not known what was used, by reason.")
	counter(&in.undefined, "rlfunc.guard.undefined_identities", "{request}", "Requests with a subject whose identity the policy does not define; no limit counts it.")
	counter(&in.reloads, "rlfunc.guard.policy.reloads", "{reload}", "Policy reloads, with those that failed.")
	counter(&in.prefetchCalls, "rlfunc.guard.prefetch.calls", "{call}", "Calls for tokens of prefetched limits.")
	counter(&in.prefetchTokens, "rlfunc.guard.prefetch.tokens", "{token}", "Tokens of prefetched limits; lost ones count until their window ends.")
	counter(&in.shadowRefusals, "rlfunc.guard.shadow.refusals", "{decision}", "Requests that a shadow limit would have refused.")
	b, err := m.Int64UpDownCounter("rlfunc.guard.breaker.open", metric.WithUnit("{breaker}"),
		metric.WithDescription("Open circuit breakers."))
	in.breakers = b
	if err := errors.Join(append(all, err)...); err != nil {
		return err
	}
	in.startAtZero()
	return nil
}

// startAtZero creates the series without an endpoint, so that an alert on an increase sees the first failure.
func (in *instruments) startAtZero() {
	ctx := context.Background()
	in.breakers.Add(ctx, 0)
	in.undefined.Add(ctx, 0)
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
	zero(in.refunds, outcomeKey, "refunded", failed)
	zero(in.reloads, outcomeKey, "loaded", failed)
	zero(in.unknown, reasonKey, string(guard.UnknownUnread), string(guard.UnknownUntold), string(guard.UnknownEncoding), string(guard.UnknownUnits))
	zero(in.settlements, outcomeKey, failed,
		string(cost.SettleOutcomeSettled), string(cost.SettleOutcomeRepeated), string(cost.SettleOutcomeUnknown))
}

const otherKind = "other"

// kinds are the values of error.type. An error that matches several has the first.
var kinds = []struct {
	is   error
	name string
}{
	{guard.ErrEndpoint, "endpoint"},
	{guard.ErrBreaker, "breaker"},
	{guard.ErrTimeout, "timeout"},
	{guard.ErrBusy, "busy"},
	{fcall.ErrNotLoaded, "not_loaded"},
	{fcall.ErrUnsupported, "unsupported"},
	{fcall.ErrNoPermission, "no_permission"},
	{fcall.ErrUnavailable, "unavailable"},
	{fcall.ErrArgument, "argument"},
	{fcall.ErrState, "state"},
	{fcall.ErrReply, "reply"},
	{fcall.ErrScript, "script"},
	{fcall.ErrOutcomeUnknown, "outcome_unknown"},
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "deadline"},
}

func kindOf(err error) string {
	for i := range kinds {
		if errors.Is(err, kinds[i].is) {
			return kinds[i].name
		}
	}
	return otherKind
}
