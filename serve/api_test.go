package serve_test

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/serve"
)

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestRun_answersProgramsOnAPortOfTheirOwn(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, fmt.Appendf(nil, "%x billing\n", sha256.Sum256([]byte("secret"))), 0o600); err != nil {
		t.Fatal(err)
	}
	api := listen(t, "0.0.0.0:0")
	p := start(t, embedded.New(embedded.Options{}).Client(), serve.Options{API: api, Tokens: tokens})
	p.await(t, grpc_health_v1.HealthCheckResponse_SERVING)
	for token, want := range map[string]int{"secret": 200, "wrong": 401} {
		_, port, _ := net.SplitHostPort(api.Addr().String())
		r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1:"+port+"/v1/decide", strings.NewReader(`{"endpoint": "total"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %s", token, answer.Status)
		}
	}
	if code, body := p.get(t, "/v1/decide"); code != 404 {
		t.Errorf("the port of proxies answers programs: %d %s", code, body)
	}
	p.stop()
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
}

func TestRun_needsTokensBeyondLoopback(t *testing.T) {
	file := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(file, []byte(limits), 0o600); err != nil {
		t.Fatal(err)
	}
	err := serve.Run(t.Context(), serve.Options{
		Redis: embedded.New(embedded.Options{}).Client(), Policy: file, GRPC: listen(t, "127.0.0.1:0"), HTTP: listen(t, "127.0.0.1:0"), API: listen(t, "0.0.0.0:0"),
	})
	if err == nil || !strings.Contains(err.Error(), "tokens") {
		t.Errorf("got %v", err)
	}
}
