package httpguard_test

import (
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
)

// exporting is what the middleware asks for a test client.
var exporting = guard.Request{Endpoint: "export", Subjects: []string{"ip=127.0.0.1"}}

const fivePlaces = `
endpoints:
  - {name: export, match: ["/export"], limits: [{name: exports, kind: concurrency, limit: 5}]}`

// freePlaces waits until n places of a client are free.
func freePlaces(t *testing.T, s *service, n int64) {
	t.Helper()
	eventually(t, "places are free", func() bool {
		e, _ := s.guard.Decide(t.Context(), exporting)
		e.Charge.End(t.Context(), guard.End{})
		return e.Allowed && e.Limits[0].Remaining == n-1
	})
}

func TestHandler_refusalByPlacesSaysNothingUntrue(t *testing.T) {
	rdb, _ := inProcess(t)
	end, began := make(chan struct{}), make(chan struct{})
	s := serve(t, rdb, parse(t, `
limits: [{name: hour, limit: 9, window: 1h}]
endpoints:
  - {name: export, match: ["/export"], limits: [{name: exports, kind: concurrency, limit: 1}]}`), httpguard.Options{XHeaders: true}, func(http.ResponseWriter, *http.Request) {
		close(began)
		<-end
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		response, body := s.ask(t, "GET /export")
		const limits, policies = `"hour";r=8;t=3600, "exports";r=0`, `"hour";q=9;w=3600, "exports";q=1;qu="concurrent-requests"`
		if response.Header.Get("RateLimit") != limits || response.Header.Get("RateLimit-Policy") != policies {
			t.Errorf("%v %s", response.Header, body)
		}
	})
	<-began
	want := answer{
		Status: 429, Error: "rate_limited", Message: "Too many requests at the same time. Try again in 1 second.", RetryAfter: "1", RateLimit: `"exports";r=0`,
		RateLimitPolicy: `"exports";q=1;qu="concurrent-requests"`, Violated: []string{"exports"}, Seconds: 1, Context: 1,
		Type: "quota-exceeded",
	}
	if diff := cmp.Diff(want, read(t, "GET /export", s)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	response, _ := s.ask(t, "GET /export")
	for name := range response.Header {
		if len(name) > 2 && name[:2] == "X-" && name != "X-Content-Type-Options" {
			t.Errorf("a limit without a window has header %s", name)
		}
	}
	close(end)
	wg.Wait()
}

// A client that leaves while Wait waits for a place gets none.
func TestHandler_waitingClientThatHasGone(t *testing.T) {
	rdb, _ := inProcess(t)
	end := make(chan struct{})
	began := make(chan struct{}, 5)
	s := serve(t, rdb, parse(t, fivePlaces), httpguard.Options{Wait: true}, func(http.ResponseWriter, *http.Request) {
		began <- struct{}{}
		<-end
	})
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { _, _ = s.ask(t, "GET /export") })
	}
	for range 5 {
		<-began
	}
	gone, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(gone, "GET /export HTTP/1.1\r\nHost: x\r\n\r\n")
	_ = gone.Close()
	last := make(chan struct{})
	wg.Go(func() { // waits, and passes once there is room
		response, _ := s.ask(t, "GET /export")
		if response.StatusCode != http.StatusOK {
			t.Errorf("a waiting request: %s", response.Status)
		}
		close(last)
	})
	close(end)
	<-last
	wg.Wait()
	freePlaces(t, s, 5)
}
