package telemetry_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/telemetry"
	"github.com/rlfunc/rlfunc/guard/telemetry/prometheus"
)

func watched(rdb redis.UniversalClient, p *policy.Policy, mux *http.ServeMux) (*guard.Guard, error) {
	metrics, err := prometheus.New()
	if err != nil {
		return nil, err
	}
	exported, err := telemetry.New(telemetry.Options{MeterProvider: metrics.MeterProvider(), Logger: slog.Default()})
	if err != nil {
		return nil, err
	}
	mux.Handle("GET /metrics", metrics)
	return guard.New(rdb, p, guard.Options{Observers: []guard.Observer{exported.Observe}})
}

func Example() {
	server := embedded.New(embedded.Options{})
	defer server.Close()
	rdb := server.Client()
	defer rdb.Close()
	mux := http.NewServeMux()
	g, err := watched(rdb, &policy.Policy{Timeout: 10 * time.Second, Endpoints: []policy.Endpoint{{Name: "chat", Unbounded: true}}}, mux)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	if _, err := g.Decide(context.Background(), guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.7"}}); err != nil {
		fmt.Println(err)
	}
	page := httptest.NewRecorder()
	mux.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(page.Body.String()) {
		if strings.HasPrefix(line, "rlfunc_guard_decisions_total") {
			fmt.Print(line)
		}
	}
	// Output: rlfunc_guard_decisions_total{rlfunc_endpoint="chat",rlfunc_outcome="allowed"} 1
}
