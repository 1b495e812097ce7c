// Package tried sends the same requests to each example.
package tried

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/rlfunc/rlfunc/embedded"
)

// Limits writes the examples' policy with a longer timeout, and starts a Redis in the process.
func Limits(t *testing.T) (file, redisAddr string) {
	t.Helper()
	text, err := os.ReadFile("../limits.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(file, append(text, "timeout: 20s\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	server := embedded.New(embedded.Options{})
	t.Cleanup(func() { _ = server.Close() })
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return file, addr.String()
}

// Handler sends twelve requests, of which ten pass. After that, neither another form of the path nor a header evades the limit.
func Handler(t *testing.T, make func(file, redisAddr string) http.Handler) {
	t.Helper()
	h := make(Limits(t))
	got := map[int]int{}
	for range 12 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat", nil))
		got[w.Code]++
		if w.Code == 200 && w.Body.String() != "hello" {
			t.Errorf("body %q", w.Body)
		}
	}
	if got[200] != 10 || got[429] != 2 {
		t.Errorf("statuses are %v", got)
	}
	further := map[string]*http.Request{"another path": httptest.NewRequest(http.MethodPost, "/V1/ch%61t/", nil)}
	for _, header := range []string{"X-API-Key", "X-Fingerprint", "X-Forwarded-For", "Idempotency-Key"} {
		further[header] = httptest.NewRequest(http.MethodPost, "/v1/chat", nil)
		further[header].Header.Set(header, "203.0.113.7")
	}
	for by, r := range further {
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusTooManyRequests {
			t.Errorf("by %s: %d", by, w.Code)
		}
	}
}
