package httpguard_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// exampleHandler guards a mux by a policy, on an embedded server whose clock stands still.
func exampleHandler(yaml string, o httpguard.Options) (http.Handler, *guard.Guard) {
	limits, err := policy.Parse("limits.yaml", []byte(yaml))
	if err != nil {
		log.Fatal(err)
	}
	rdb := embedded.New(embedded.Options{Clock: embedded.NewManualClock(engines.Start)}).Client()
	g, err := guard.New(rdb, limits, guard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	m, err := httpguard.New(g, o)
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	return m.Handler(mux), g
}

func Example() {
	handler, g := exampleHandler(`
version: 1
timeout: 10s
endpoints:
  - name: chat
    match: ["POST /v1/chat"]
    limits:
      - {name: minute, by: ip, limit: 1, window: 1m}
`, httpguard.Options{})
	defer g.Close()
	for range 2 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat", nil))
		fmt.Printf("%d %s Retry-After: %q\n", w.Code, w.Header().Get("RateLimit"), w.Header().Get("Retry-After"))
	}
	// Output:
	// 200 "minute";r=0;t=60 Retry-After: ""
	// 429 "minute";r=0;t=60 Retry-After: "60"
}

// Weight charges a limit by the size of a request, and Estimate reserves a budget by it.
func ExampleOptions() {
	handler, g := exampleHandler(`
version: 1
timeout: 10s
budgets: [{name: day, by: ip, budget: 1.00, window: 24h}]
endpoints:
  - name: chat
    match: ["POST /v1/chat"]
    cost: {estimate: 0.10}
    limits:
      - {name: bytes, by: ip, kind: gcra, limit: 1000, window: 1m}
`, httpguard.Options{
		Weight:   func(r *http.Request) int64 { return 300 },
		Estimate: func(r *http.Request) guard.Amounts { return guard.Amounts{Money: 250_000} },
	})
	defer g.Close()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat", nil))
	fmt.Println(w.Code, w.Header().Get("RateLimit"))
	// Output:
	// 200 "bytes";r=700;t=18
}
