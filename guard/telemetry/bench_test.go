package telemetry_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/telemetry"
	"github.com/rlfunc/rlfunc/guard/telemetry/prometheus"
)

// An attacker gets cached refusals, so these must stay cheap with all telemetry on.
func BenchmarkDecide_rememberedRefusal(b *testing.B) {
	metrics, err := prometheus.New()
	if err != nil {
		b.Fatal(err)
	}
	off := metricnoop.NewMeterProvider()
	for _, bench := range []struct {
		name   string
		meters metric.MeterProvider
		logger *slog.Logger
	}{
		{"without", nil, nil},
		{"logs", off, slog.New(slog.NewJSONHandler(discard{}, nil))},
		{"metrics", metrics.MeterProvider(), slog.New(slog.DiscardHandler)},
		{"both", metrics.MeterProvider(), slog.New(slog.NewJSONHandler(discard{}, nil))},
	} {
		b.Run(bench.name, func(b *testing.B) {
			o := guard.Options{CacheTTL: time.Hour}
			if bench.meters != nil {
				exported, err := telemetry.New(telemetry.Options{
					MeterProvider: bench.meters, TracerProvider: tracenoop.NewTracerProvider(), Logger: bench.logger,
				})
				if err != nil {
					b.Fatal(err)
				}
				o.Hooks = []guard.Hooks{exported.Hooks()}
			}
			server := embedded.New(embedded.Options{})
			b.Cleanup(func() { _ = server.Close() })
			rdb := server.Client()
			b.Cleanup(func() { _ = rdb.Close() })
			g, err := guard.New(rdb, &policy.Policy{Timeout: 10 * time.Second, Endpoints: []policy.Endpoint{{
				Name: "chat", Limits: []policy.Limit{{Name: "hour", Limit: 1, Window: time.Hour}},
			}}}, o)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = g.Close() })
			r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.7"}}
			ctx := context.Background()
			for range 2 {
				if _, err := g.Decide(ctx, r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if d, err := g.Decide(ctx, r); err != nil || !d.Cached {
					b.Fatal(d, err)
				}
			}
		})
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
