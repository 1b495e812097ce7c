// Package prometheus serves the metrics of a guard to Prometheus.
//
//	metrics, err := prometheus.New()
//	exported, err := telemetry.New(telemetry.Options{MeterProvider: metrics.MeterProvider()})
//	g, err := guard.New(rdb, p, guard.Options{Observers: []guard.Observer{exported.Observe}})
//	mux.Handle("GET /metrics", metrics)
//
// It links the OpenTelemetry SDK and the Prometheus client. A service with its own meter provider passes that to telemetry.New
// and does not need this package. docs/reference/telemetry.md lists the metrics.
package prometheus

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

// Metrics is a meter provider with a page for Prometheus. It is safe for concurrent use.
type Metrics struct {
	provider *sdk.MeterProvider
	registry *prometheus.Registry
	page     http.Handler
}

// New returns Metrics with a registry of its own: the page has no metrics from other registries.
func New() (*Metrics, error) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("new prometheus metrics: %w", err)
	}
	return &Metrics{
		// The policy bounds the series. The SDK's own limit of 2000 would merge the endpoints of a large policy.
		provider: sdk.NewMeterProvider(sdk.WithReader(reader), sdk.WithCardinalityLimit(0)),
		registry: registry,
		page:     promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
	}, nil
}

// MeterProvider returns the provider for telemetry.Options.
func (m *Metrics) MeterProvider() metric.MeterProvider { return m.provider }

// Gatherer returns the metrics for prometheus.Gatherers, to serve them with others on one page.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// ServeHTTP writes the page in the format that the client accepts.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.page.ServeHTTP(w, r) }

// Close shuts down the provider; later measurements are lost.
func (m *Metrics) Close(ctx context.Context) error { return m.provider.Shutdown(ctx) }
