package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// While Redis hangs, a program waits little longer than the policy says, and learns what may have run.
func TestAPI_hangingRedis(t *testing.T) {
	server := engines.OnPath(t).Start(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	p, err := policy.Parse("limits.yaml", []byte(strings.Replace(limits, "20s", "1s", 1)))
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(rdb, p, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	h, err := New(g, rdb, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	post := func(path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	var decided decision
	if err := json.Unmarshal(post("/v1/decide", `{"endpoint": "chat", "subjects": ["ip=192.0.2.1"]}`).Body.Bytes(), &decided); err != nil {
		t.Fatal(err)
	}
	settlement, status := fmt.Sprintf(`{"charge": %q, "actual": "0.1"}`, decided.Charge), `{"subject": "ip=192.0.2.1"}`
	for path, body := range map[string]string{"/v1/charges/settle": settlement, "/v1/status": status} {
		if w := post(path, body); w.Code != http.StatusOK { // loads the library
			t.Fatalf("%s: %s", path, w.Body)
		}
	}
	server.Pause(t)
	for _, c := range []struct{ path, body, want string }{
		{"/v1/charges/settle", settlement, "outcome_unknown"},
		{"/v1/status", status, "limiter_unavailable"},
	} {
		start := time.Now()
		w := post(c.path, c.body)
		if took := time.Since(start); w.Code != http.StatusServiceUnavailable || !bytes.Contains(w.Body.Bytes(), []byte(`"`+c.want+`"`)) || took > 4*time.Second {
			t.Errorf("%s after %v: %s", c.path, took, w.Body)
		}
	}
}
