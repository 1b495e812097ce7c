package otlp

import (
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/rlfunc/rlfunc/internal/engines"
)

func TestCheck_readsTheEnvironment(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318"
	for _, c := range []struct {
		variables string
		want      bool
		err       string
	}{
		{"", false, ""},
		{endpoint, true, ""},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=https://collector/v1/metrics", true, ""},
		{endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf OTEL_METRICS_EXPORTER=prometheus,otlp", true, ""},
		{endpoint + " OTEL_METRIC_EXPORT_INTERVAL=5000 OTEL_METRIC_EXPORT_TIMEOUT=1", true, ""},
		{endpoint + " OTEL_SDK_DISABLED=true", false, ""},
		{endpoint + " OTEL_METRICS_EXPORTER=none", false, ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=127.0.0.1:4318", false, "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=ftp://collector", false, "must be a URL"},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://", false, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT must be a URL"},
		{endpoint + " OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=grpc", false, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL must be http/protobuf"},
		{endpoint + " OTEL_METRIC_EXPORT_INTERVAL=0", false, "OTEL_METRIC_EXPORT_INTERVAL must be milliseconds"},
		{endpoint + " OTEL_EXPORTER_OTLP_TIMEOUT=10s", false, "OTEL_EXPORTER_OTLP_TIMEOUT must be milliseconds"},
		{endpoint + " OTEL_METRIC_EXPORT_TIMEOUT=10s", false, "OTEL_METRIC_EXPORT_TIMEOUT must be milliseconds"},
	} {
		environment := map[string]string{}
		for variable := range strings.FieldsSeq(c.variables) {
			name, value, _ := strings.Cut(variable, "=")
			environment[name] = value
		}
		got, err := check(func(name string) string { return environment[name] })
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", c.variables, err, c.err)
			}
		case err != nil || got != c.want:
			t.Errorf("%s: %v %v, want %v", c.variables, got, err, c.want)
		}
	}
}

// start returns a provider that pushes one counter.
func start(t *testing.T, logs io.Writer, variables ...string) *metric.MeterProvider {
	t.Helper()
	for i := 0; i < len(variables); i += 2 {
		t.Setenv(variables[i], variables[i+1])
	}
	options, err := Options(t.Context(), slog.New(slog.NewTextHandler(logs, nil)))
	if err != nil || len(options) == 0 {
		t.Fatal(options, err)
	}
	return provide(t, options...)
}

func provide(t *testing.T, options ...metric.Option) *metric.MeterProvider {
	t.Helper()
	p := metric.NewMeterProvider(options...)
	counter, err := p.Meter("test").Int64Counter("requests")
	if err != nil {
		t.Fatal(err)
	}
	counter.Add(t.Context(), 7)
	return p
}

func TestOptions_rejectsWhatOpenTelemetryWouldIgnore(t *testing.T) {
	noCertificate := filepath.Join(t.TempDir(), "ca.pem")
	for variable, c := range map[string]struct{ value, want string }{
		"CERTIFICATE":     {noCertificate, "no such file"},
		"HEADERS":         {"secret", "parse headers"},
		"METRICS_HEADERS": {"x=secret%zz", "escape header value"},
	} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
			t.Setenv("OTEL_EXPORTER_OTLP_"+variable, c.value)
			_, err := Options(t.Context(), slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestOptions_sendsWhatTheSpecificationSays(t *testing.T) {
	requests := make(chan *http.Request, 1)
	var sent collectorv1.ExportMetricsServiceRequest
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, err := gzip.NewReader(r.Body); err != nil {
			t.Error(err)
		} else if text, err := io.ReadAll(body); err != nil || proto.Unmarshal(text, &sent) != nil {
			t.Errorf("%v: %q", err, text)
		}
		requests <- r
	}))
	defer collector.Close()
	p := start(t, io.Discard, "OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL+"/base", "OTEL_EXPORTER_OTLP_HEADERS", "x-key=secret%201",
		"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", "OTEL_METRIC_EXPORT_INTERVAL", "3600000", "OTEL_RESOURCE_ATTRIBUTES", "service.name=edge")
	_ = p.Shutdown(t.Context())
	r := <-requests
	if r.Method != http.MethodPost || r.URL.Path != "/base/v1/metrics" || r.Header.Get("X-Key") != "secret 1" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
	metrics := sent.GetResourceMetrics()[0]
	if m := metrics.GetScopeMetrics()[0].GetMetrics()[0]; m.GetName() != "requests" || m.GetSum().GetDataPoints()[0].GetAsInt() != 7 {
		t.Errorf("%v", m)
	}
	if text := metrics.GetResource().String(); !strings.Contains(text, "edge") || strings.Contains(text, "rlfunc-serve") {
		t.Errorf("the resource is %s", text)
	}
}

// A silent exporter returns when the context of its push ends.
type silent struct {
	metric.Exporter
	pushes, open, most int
}

func (s *silent) Export(ctx context.Context, _ *metricdata.ResourceMetrics) error {
	s.pushes++
	s.open++
	s.most = max(s.most, s.open)
	<-ctx.Done()
	s.open--
	return ctx.Err()
}

func (s *silent) Shutdown(context.Context) error { return nil }

func (s *silent) Temporality(kind metric.InstrumentKind) metricdata.Temporality {
	return metric.DefaultTemporalitySelector(kind)
}

func (s *silent) Aggregation(kind metric.InstrumentKind) metric.Aggregation {
	return metric.DefaultAggregationSelector(kind)
}

// A collector that does not answer gets one push at a time, and holds Close no longer than its context.
func TestOptions_silentCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(silent)
		reader := metric.NewPeriodicReader(&recorder{Exporter: s, logger: slog.New(slog.DiscardHandler)}, metric.WithInterval(time.Second), metric.WithTimeout(3500*time.Millisecond))
		p := provide(t, metric.WithReader(reader))
		time.Sleep(time.Minute) // virtual
		start := time.Now()
		last, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_ = p.Shutdown(last)
		if took := time.Since(start); took != 2*time.Second || s.most != 1 || s.pushes < 15 {
			t.Errorf("closed after %v; %d pushes, %d at once", took, s.pushes, s.most)
		}
	})
}

// The exporter of Start returns when the context of a push ends, too.
func TestOptions_silentServer(t *testing.T) {
	release := make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer collector.Close()
	defer close(release)
	p := start(t, io.Discard, "OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL, "OTEL_METRIC_EXPORT_INTERVAL", "3600000")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_ = p.Shutdown(ctx)
	if ctx.Err() == nil {
		t.Error("the push ended without an answer")
	}
}

// A collector that refuses, or is not there, is recorded once, and once when it is back.
func TestOptions_refusingAndMissingCollector(t *testing.T) {
	var refuses atomic.Bool
	var seen atomic.Int64
	refuses.Store(true)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refuses.Load() {
			w.WriteHeader(http.StatusForbidden)
		}
		seen.Add(1)
	}))
	defer collector.Close()
	var logs strings.Builder
	p := start(t, &logs, "OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL, "OTEL_METRIC_EXPORT_INTERVAL", "1")
	after := func(pushes int64) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); seen.Load() < pushes; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d pushes", seen.Load())
			}
		}
	}
	after(5)
	refuses.Store(false)
	after(seen.Load() + 3)
	_ = p.Shutdown(t.Context())
	if got := logs.String(); strings.Count(got, "metrics not pushed") != 1 || strings.Count(got, "pushed again") != 1 || !strings.Contains(got, "403") {
		t.Errorf("records:\n%s", got)
	}

	logs.Reset()
	p = start(t, &logs, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+engines.FreeAddr(t), "OTEL_METRIC_EXPORT_INTERVAL", "3600000")
	_ = p.Shutdown(t.Context())
	if !strings.Contains(logs.String(), "connection refused") {
		t.Errorf("records:\n%s", logs.String())
	}
}
