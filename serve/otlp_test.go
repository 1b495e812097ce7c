package serve_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard/report"
	"github.com/rlfunc/rlfunc/serve"
)

// Decisions do not wait for a collector that does not answer, and the last push has all of them.
func TestRun_pushesMetrics(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(began) })
	var mu sync.Mutex
	var most int64
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var sent collectorv1.ExportMetricsServiceRequest
		if body, err := io.ReadAll(r.Body); err != nil || proto.Unmarshal(body, &sent) != nil {
			return // a push that the end of the process cut off
		}
		begin()
		<-release
		var decided int64
		for _, all := range sent.GetResourceMetrics() {
			for _, scope := range all.GetScopeMetrics() {
				for _, m := range scope.GetMetrics() {
					if m.GetName() == "rlfunc.guard.decisions" {
						for _, point := range m.GetSum().GetDataPoints() {
							decided += point.GetAsInt()
						}
					}
				}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		most = max(most, decided)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "1")
	p := start(t, embedded.New(embedded.Options{}).Client(), serve.Options{})
	p.await(t, grpc_health_v1.HealthCheckResponse_SERVING)
	<-began
	for range 3 {
		if _, err := p.ask(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	close(release)
	p.stop()
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if most != 3 {
		t.Errorf("the collector got %d decisions", most)
	}
}

func TestRun_rejectsAWrongEndpointOfMetrics(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "collector")
	file := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(file, []byte(limits), 0o600); err != nil {
		t.Fatal(err)
	}
	err := serve.Run(t.Context(), serve.Options{
		Redis: embedded.New(embedded.Options{}).Client(), Policy: file, GRPC: listen(t, "127.0.0.1:0"), HTTP: listen(t, "127.0.0.1:0"),
	})
	if err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_ENDPOINT") {
		t.Errorf("got %v", err)
	}
}

// rlfunc top sees what serve decides.
func TestRun_reports(t *testing.T) {
	rdb := embedded.New(embedded.Options{}).Client()
	p := start(t, rdb, serve.Options{})
	p.await(t, grpc_health_v1.HealthCheckResponse_SERVING)
	for range 3 {
		if _, err := p.ask(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p.stop()
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
	all, err := report.Read(t.Context(), rdb, "guard")
	if total := report.Merge(all); err != nil || total.Requests != 3 || total.Merged != 1 {
		t.Errorf("%+v, %v", total, err)
	}
}
