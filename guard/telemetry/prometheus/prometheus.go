// Package prometheus serves a guard's metrics to Prometheus.
//
//	metrics, err := prometheus.New()
//	told, err := telemetry.New(telemetry.Options{MeterProvider: metrics.MeterProvider()})
//	mux.Handle("GET /metrics", metrics)
//
// A service that has a meter provider of its own gives that to telemetry.New and does not need this package.
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

// Metrics are what a provider's instruments have counted, as a page for Prometheus. It is safe for concurrent use.
type Metrics struct {
	provider *sdk.MeterProvider
	registry *prometheus.Registry
	page     http.Handler
}

// New returns Metrics with a registry of their own: what else the process registers is not on the page.
func New() (*Metrics, error) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("new prometheus metrics: %w", err)
	}
	return &Metrics{
		// The policy bounds the series; the SDK's own bound of 2000 would fold a large policy's endpoints into one.
		provider: sdk.NewMeterProvider(sdk.WithReader(reader), sdk.WithCardinalityLimit(0)),
		registry: registry,
		page:     promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
	}, nil
}

// MeterProvider makes the instruments that are served.
func (m *Metrics) MeterProvider() metric.MeterProvider { return m.provider }

// Gatherer gives the metrics to a page that has others besides, by prometheus.Gatherers.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// ServeHTTP answers with the page, in the form that the client asks for.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.page.ServeHTTP(w, r) }

// Close ends the provider; what is counted later is lost.
func (m *Metrics) Close(ctx context.Context) error { return m.provider.Shutdown(ctx) }
