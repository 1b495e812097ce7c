package prometheus_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/telemetry"
	"github.com/rlfunc/rlfunc/guard/telemetry/prometheus"
)

func ExampleNew() {
	metrics, err := prometheus.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	exported, err := telemetry.New(telemetry.Options{MeterProvider: metrics.MeterProvider()})
	if err != nil {
		fmt.Println(err)
		return
	}
	// This is one of guard.Options.Observers; a guard calls it.
	exported.Observe(context.Background(), guard.BreakerChanged{Node: "127.0.0.1:6379", Open: true})

	page := httptest.NewRecorder()
	metrics.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(page.Body.String()) {
		if strings.HasPrefix(line, "rlfunc_guard_breaker_open") {
			fmt.Print(line)
		}
	}
	_ = metrics.Close(context.Background())
	// Output: rlfunc_guard_breaker_open 1
}
