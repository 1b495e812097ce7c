package prometheus_test

import (
	"strconv"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/rlfunc/rlfunc/guard/telemetry/prometheus"
)

func TestMetrics_keepEachSeriesOfALargePolicy(t *testing.T) {
	metrics, err := prometheus.New()
	if err != nil {
		t.Fatal(err)
	}
	counter, err := metrics.MeterProvider().Meter("test").Int64Counter("rlfunc.test")
	if err != nil {
		t.Fatal(err)
	}
	const series = 16_000 // 1000 endpoints with 16 limits each
	for i := range series {
		counter.Add(t.Context(), 1, metric.WithAttributes(attribute.String("limit", strconv.Itoa(i))))
	}
	families, err := metrics.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != 1 || len(families[0].GetMetric()) != series {
		t.Errorf("%d families, want 1 with %d series", len(families), series)
	}
}
