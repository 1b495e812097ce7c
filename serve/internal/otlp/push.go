// Package otlp pushes metrics to a collector, by OTLP over HTTP, as the environment of the process says.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/semconv/v1.43.0"
)

// A Pusher pushes all metrics at an interval, one push at a time. Sums are cumulative, so a push includes those that failed before it.
type Pusher struct {
	collect  func(context.Context, *metricdata.ResourceMetrics) error
	exporter metric.Exporter
	resource *resource.Resource
	config   config
	logger   *slog.Logger
	failing  bool
	stop     context.CancelFunc
	done     chan struct{}
}

// Start pushes what collect returns until Close. It returns nil if the environment names no endpoint, and an error if a variable is wrong.
// Nothing waits for the collector but Close.
func Start(ctx context.Context, collect func(context.Context, *metricdata.ResourceMetrics) error, logger *slog.Logger) (*Pusher, error) {
	c, ok, err := configure(os.Getenv)
	if !ok || err != nil {
		return nil, err
	}
	p := &Pusher{collect: collect, config: c, logger: logger, done: make(chan struct{})}
	// A variable of the environment has priority over the name here.
	if p.resource, err = resource.New(ctx, resource.WithAttributes(semconv.ServiceName("rlfunc-serve")), resource.WithTelemetrySDK(), resource.WithFromEnv()); err != nil {
		return nil, fmt.Errorf("resource of the metrics: %w", err)
	}
	if p.exporter, err = newExporter(ctx, logger); err != nil {
		return nil, fmt.Errorf("exporter of the metrics: %w", err)
	}
	ctx, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	go p.run(ctx)
	return p, nil
}

// newExporter returns an exporter. OpenTelemetry logs a variable that is wrong, and goes on without it; here that is an error. Later records
// of OpenTelemetry go to the logger.
func newExporter(ctx context.Context, logger *slog.Logger) (metric.Exporter, error) {
	var wrong strings.Builder
	otel.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(&wrong, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.MessageKey || a.Key == "err" || a.Key == "file" {
			return a
		}
		return slog.Attr{} // such as a header, which may be a secret
	}})))
	defer otel.SetLogger(logr.FromSlogHandler(logger.Handler()))
	e, err := otlpmetrichttp.New(ctx)
	if err == nil && wrong.Len() > 0 {
		err = fmt.Errorf("a variable OTEL_EXPORTER_OTLP_* is wrong: %s", strings.TrimSpace(wrong.String()))
	}
	return e, err
}

func (p *Pusher) run(ctx context.Context) {
	defer close(p.done)
	tick := time.NewTicker(p.config.interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.push(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// push logs the first of several failures, and the next success.
func (p *Pusher) push(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, p.config.timeout)
	defer cancel()
	var all metricdata.ResourceMetrics
	err := p.collect(within, &all)
	if err == nil {
		all.Resource = p.resource
		err = p.exporter.Export(within, &all)
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled): // Close pushes again
	case err != nil && !p.failing:
		p.logger.Warn("metrics not pushed; the next push has them", "error", err)
		p.failing = true
	case err == nil && p.failing:
		p.logger.Info("metrics pushed again")
		p.failing = false
	}
}

// Close pushes once more and ends the Pusher, at the latest when ctx ends. A nil Pusher does nothing.
func (p *Pusher) Close(ctx context.Context) {
	if p == nil {
		return
	}
	p.stop()
	<-p.done // a push ends when its context does
	p.push(ctx)
	_ = p.exporter.Shutdown(ctx) // returns the error of ctx
}
