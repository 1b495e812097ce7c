// Package otlp pushes metrics to a collector, by OTLP over HTTP, as the environment of the process says.
package otlp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/semconv/v1.43.0"
)

// Options return what a MeterProvider needs to push all metrics at an interval, one push at a time, and once more at its shutdown. Sums are
// cumulative, so a push includes those that failed before it. Without an endpoint in the environment there are no options; a variable that is
// wrong is an error. Nothing waits for the collector but the shutdown.
func Options(ctx context.Context, logger *slog.Logger) ([]metric.Option, error) {
	if wanted, err := check(os.Getenv); !wanted || err != nil {
		return nil, err
	}
	// A variable of the environment has priority over the name here.
	process, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName("rlfunc-serve")), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("resource of the metrics: %w", err)
	}
	exporter, err := newExporter(ctx, logger)
	if err != nil {
		return nil, fmt.Errorf("exporter of the metrics: %w", err)
	}
	reader := metric.NewPeriodicReader(&recorder{Exporter: exporter, logger: logger})
	return []metric.Option{metric.WithResource(process), metric.WithReader(reader)}, nil
}

// check reports whether the environment wants metrics to be pushed. It returns an error for what OpenTelemetry would ignore or replace by a
// default.
func check(getenv func(string) string) (wanted bool, err error) {
	of := func(name string) (variable, value string) {
		for _, variable = range []string{"OTEL_EXPORTER_OTLP_METRICS_" + name, "OTEL_EXPORTER_OTLP_" + name} {
			if value = strings.TrimSpace(getenv(variable)); value != "" {
				return variable, value
			}
		}
		return "", ""
	}
	variable, endpoint := of("ENDPOINT")
	exporters := strings.Split(cmp.Or(getenv("OTEL_METRICS_EXPORTER"), "otlp"), ",")
	if endpoint == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || !slices.Contains(exporters, "otlp") {
		return false, nil
	}
	if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return false, fmt.Errorf("%s must be a URL of http or https, such as http://127.0.0.1:4318, got %q", variable, endpoint)
	}
	if variable, protocol := of("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return false, fmt.Errorf("%s must be http/protobuf, got %q", variable, protocol)
	}
	timeout, _ := of("TIMEOUT")
	for _, variable := range []string{timeout, "OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_TIMEOUT"} {
		text := getenv(variable)
		if n, err := strconv.ParseInt(text, 10, 32); text != "" && (err != nil || n < 1) {
			return false, fmt.Errorf("%s must be milliseconds from 1 to 2147483647, got %q", variable, text)
		}
	}
	return true, nil
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

// A recorder logs the first of several pushes that fail, and the next that does not.
type recorder struct {
	metric.Exporter
	logger  *slog.Logger
	failing bool
}

func (r *recorder) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	err := r.Exporter.Export(ctx, all)
	switch {
	case errors.Is(ctx.Err(), context.Canceled): // the shutdown pushes again
	case err != nil && !r.failing:
		r.logger.Warn("metrics not pushed; the next push has them", "error", err)
		r.failing = true
	case err == nil && r.failing:
		r.logger.Info("metrics pushed again")
		r.failing = false
	}
	return nil
}
