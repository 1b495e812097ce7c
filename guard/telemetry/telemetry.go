package telemetry

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/rlfunc/rlfunc/guard"
)

const scope = "github.com/rlfunc/rlfunc/guard/telemetry"

// Options configure a Telemetry. The zero value exports to the global provider and the default logger.
type Options struct {
	// MeterProvider creates the instruments. One of package metric/noop turns metrics off. Defaults to otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
	// Logger writes the records. One with slog.DiscardHandler turns them off. Defaults to slog.Default().
	Logger *slog.Logger
	// SubjectKey is the key of subjects' hashes in records. With the same key in all processes, operators can follow a
	// subject through all of them. Defaults to a random key for this process.
	SubjectKey []byte

	now func() time.Time
}

// A Telemetry exports what guards do. It is safe for concurrent use, and can serve several guards.
type Telemetry struct {
	instruments instruments
	logger      *slog.Logger
	key         []byte
	now         func() time.Time

	series    *table[seriesKey, *series]
	endpoints *table[string, *endpointSeries]
	shadows   *table[shadowKey, []metric.AddOption]
	samplers  *table[samplerKey, *sampler]
}

// New creates the instruments. It returns an error if the meter provider rejects one.
func New(o Options) (*Telemetry, error) {
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.now == nil {
		o.now = time.Now
	}
	if len(o.SubjectKey) == 0 {
		o.SubjectKey = make([]byte, 32)
		_, _ = rand.Read(o.SubjectKey) // never fails
	}
	t := &Telemetry{logger: o.Logger, key: o.SubjectKey, now: o.now}
	meter := o.MeterProvider.Meter(scope)
	if err := t.instruments.make(meter); err != nil {
		return nil, fmt.Errorf("new telemetry: %w", err)
	}
	t.samplers = newTable(func(samplerKey) *sampler { return new(sampler) })
	t.series = newTable(t.newSeries)
	t.endpoints = newTable(newEndpointSeries)
	t.shadows = newTable(newShadow)
	if _, err := meter.RegisterCallback(t.observe, t.instruments.decisions, t.instruments.cacheHits); err != nil {
		return nil, fmt.Errorf("new telemetry: %w", err)
	}
	return t, nil
}

// Observe exports an event. It is one of guard.Options.Observers.
func (t *Telemetry) Observe(ctx context.Context, e guard.Event) {
	switch e := e.(type) {
	case guard.Decided:
		t.decided(ctx, &e)
	case guard.Refunded:
		t.refunded(ctx, e)
	case guard.Settled:
		t.settled(ctx, &e)
	case guard.Prefetched:
		t.prefetched(e)
	case guard.BreakerChanged:
		t.breaker(e)
	case guard.Reloaded:
		t.reloaded(e.Err)
	}
}

func (t *Telemetry) decided(ctx context.Context, e *guard.Decided) {
	s := t.series.of(keyOf(e))
	t.measure(ctx, e, s)
	t.logDecided(ctx, e, s)
}

func (t *Telemetry) breaker(e guard.BreakerChanged) {
	var at []any
	if e.Node != "" {
		at = []any{"node", e.Node}
	}
	if e.Open {
		t.instruments.breakers.Add(context.Background(), 1)
		t.logger.Error("circuit breaker opened", at...)
	} else {
		t.instruments.breakers.Add(context.Background(), -1)
		t.logger.Info("circuit breaker closed", at...)
	}
}

func (t *Telemetry) refunded(ctx context.Context, e guard.Refunded) {
	t.count(ctx, t.instruments.refunds, outcomeKey, outcome(e.Err, "refunded"))
	if e.Err != nil {
		t.logNotEnded(ctx, "refund", "charge not refunded; it counts until its window ends", e.Subject, e.Err)
	}
}

func (t *Telemetry) prefetched(added guard.Prefetched) {
	add := func(c metric.Int64Counter, n int64, outcome string) {
		if n > 0 {
			c.Add(context.Background(), n, metric.WithAttributes(limitKey.String(added.Limit), outcomeKey.String(outcome)))
		}
	}
	add(t.instruments.prefetchCalls, added.Calls-added.Failed, "answered")
	add(t.instruments.prefetchCalls, added.Failed, failed)
	add(t.instruments.prefetchTokens, added.Taken, "taken")
	add(t.instruments.prefetchTokens, added.Refunded, "refunded")
	add(t.instruments.prefetchTokens, added.Lost, "lost")
}

func (t *Telemetry) settled(ctx context.Context, s *guard.Settled) {
	t.count(ctx, t.instruments.settlements, outcomeKey, outcome(s.Err, s.Outcome))
	if s.Unknown != "" {
		t.count(ctx, t.instruments.unknown, reasonKey, string(s.Unknown))
		if skipped, ok := t.samplers.of(samplerKey{why: "unknown"}).sample(t.now()); ok {
			t.logger.LogAttrs(ctx, slog.LevelWarn, "usage unknown, so the estimate counts",
				slog.String("subject", t.subject(s.Subject)), slog.String("reason", string(s.Unknown)), slog.Int64("skipped", skipped))
		}
	}
	switch {
	case s.Err != nil && s.Reservation == "":
		t.logNotEnded(ctx, "record", "cost not recorded; the budgets lack it", s.Subject, s.Err)
	case s.Err != nil:
		t.logNotEnded(ctx, "settle", "reservation not settled; its estimate counts until its hold ends", s.Subject, s.Err)
	case t.logger.Enabled(ctx, slog.LevelDebug):
		t.logger.LogAttrs(ctx, slog.LevelDebug, "reservation ended",
			slog.String("subject", t.subject(s.Subject)), slog.String("outcome", s.Outcome), slog.Int64("actual_micros", int64(s.Actual)))
	}
}

func (t *Telemetry) reloaded(err error) {
	t.count(context.Background(), t.instruments.reloads, outcomeKey, outcome(err, "loaded"))
	if err != nil {
		t.logger.Error("policy not replaced; the old policy stays in use", slog.Any("error", err))
	} else {
		t.logger.Info("policy replaced")
	}
}

// outcome returns failed, or the outcome of a success.
func outcome(err error, success string) string {
	if err != nil {
		return failed
	}
	return success
}
