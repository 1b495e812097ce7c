package serve_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/serve"
)

const limits = `
timeout: 10s
identities: {ip: {trusted_proxies: [127.0.0.1]}}
endpoints: [{name: total, match: ["/"], limits: [{name: day, by: all, limit: 2, window: 24h}]}]
descriptors: [{domain: edge, entries: [{key: generic_key, value: total}], endpoint: total}]
`

type process struct {
	conn    *grpc.ClientConn
	client  ratelimitv3.RateLimitServiceClient
	grpc    string // address
	web     string // URL
	file    string
	stop    context.CancelFunc
	ended   chan error
	serving grpc.ServerStreamingClient[grpc_health_v1.HealthCheckResponse]
}

func start(t *testing.T, rdb redis.UniversalClient, o serve.Options, dial ...grpc.DialOption) *process {
	t.Helper()
	p := &process{file: filepath.Join(t.TempDir(), "limits.yaml"), ended: make(chan error, 1)}
	if err := os.WriteFile(p.file, []byte(limits), 0o600); err != nil {
		t.Fatal(err)
	}
	var ports [2]net.Listener
	for i := range ports {
		var err error
		if ports[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	p.grpc, p.web = ports[0].Addr().String(), "http://"+ports[1].Addr().String()
	o.Redis, o.Policy, o.GRPC, o.HTTP, o.Logger = rdb, p.file, ports[0], ports[1], slog.New(slog.DiscardHandler)
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go func() { p.ended <- serve.Run(ctx, o) }()
	var err error
	dial = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, dial...)
	if p.conn, err = grpc.NewClient(p.grpc, dial...); err != nil {
		t.Fatal(err)
	}
	p.client = ratelimitv3.NewRateLimitServiceClient(p.conn)
	if p.serving, err = grpc_health_v1.NewHealthClient(p.conn).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = p.conn.Close()
	})
	return p
}

// await waits for a state of grpc.health.v1.
func (p *process) await(t *testing.T, want grpc_health_v1.HealthCheckResponse_ServingStatus) {
	t.Helper()
	for {
		got, err := p.serving.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if got.Status == want {
			return
		}
	}
}

func (p *process) get(t *testing.T, path string) (int, string) {
	t.Helper()
	r, err := http.Get(p.web + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

func (p *process) ask(ctx context.Context) (*ratelimitv3.RateLimitResponse, error) {
	return p.client.ShouldRateLimit(ctx, total())
}

func TestRun_decidesAndDrains(t *testing.T) {
	p := start(t, embedded.New(embedded.Options{}).Client(), serve.Options{Delay: 500 * time.Millisecond})
	p.await(t, grpc_health_v1.HealthCheckResponse_SERVING)
	if code, body := p.get(t, "/readyz"); code != 200 {
		t.Errorf("/readyz: %d %s", code, body)
	}
	for i := range 3 {
		r, err := p.ask(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if (r.OverallCode == ratelimitv3.RateLimitResponse_OK) != (i < 2) {
			t.Errorf("request %d: %v", i+1, r.OverallCode)
		}
	}
	if code, body := p.get(t, "/metrics"); code != 200 || !strings.Contains(body, `endpoint="total"`) {
		t.Errorf("/metrics: %d\n%s", code, body)
	}
	// 1 MiB of metadata fails this request only.
	_, err := p.ask(metadata.AppendToOutgoingContext(t.Context(), "x", strings.Repeat("a", 1<<20)))
	if status.Code(err) == codes.OK {
		t.Error("1 MiB of metadata passed")
	}
	p.stop()
	p.await(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	if code, body := p.get(t, "/readyz"); code != 503 || !strings.Contains(body, "draining") {
		t.Errorf("/readyz while it drains: %d %s", code, body)
	}
	if code, _ := p.get(t, "/livez"); code != 200 {
		t.Errorf("/livez while it drains: %d", code)
	}
	if _, err := p.ask(t.Context()); err != nil {
		t.Errorf("a request while it drains: %v", err)
	}
	// The watch of grpc.health.v1 is open, and does not hold the drain.
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
}

func TestRun_saysWhyItIsNotReady(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	p := start(t, rdb, serve.Options{})
	p.await(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	if code, body := p.get(t, "/readyz"); code != 503 || !strings.HasPrefix(body, "not ready: redis") {
		t.Errorf("/readyz: %d %s", code, body)
	}
	if code, _ := p.get(t, "/livez"); code != 200 {
		t.Errorf("/livez: %d", code)
	}
}

func TestRun_rejectsAWrongPolicy(t *testing.T) {
	for text, want := range map[string]string{
		"descriptors: [{domain: edge}]": "limits.yaml:1:",
		"endpoints: [{name: a, match: [/], limits: [{name: b, by: all, kind: concurrency, limit: 5}]}]":                                              "limit a/b of endpoint a is of kind concurrency",
		"limits: [{name: b, by: all, kind: concurrency, limit: 5}]\nendpoints: [{name: a, unbounded: true}, {name: c, match: [/], unbounded: true}]": "limit b of endpoint c is of kind concurrency",
	} {
		file := filepath.Join(t.TempDir(), "limits.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		port, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		err = serve.Run(t.Context(), serve.Options{Redis: redis.NewClient(&redis.Options{}), Policy: file, GRPC: port, HTTP: port})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// A file that was cut off keeps the old policy.
func TestRun_keepsItsPolicyWhenTheFileIsEmptied(t *testing.T) {
	reloaded := make(chan error, 9)
	p := start(t, embedded.New(embedded.Options{}).Client(), serve.Options{Guard: guard.Options{Observers: []guard.Observer{func(_ context.Context, e guard.Event) {
		if e, ok := e.(guard.Reloaded); ok {
			reloaded <- e.Err
		}
	}}}})
	p.await(t, grpc_health_v1.HealthCheckResponse_SERVING)
	if err := os.WriteFile(p.file, []byte("version: 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for {
		if err := <-reloaded; err != nil { // the first reload is of the old content
			if !strings.Contains(err.Error(), "every request would pass") {
				t.Error(err)
			}
			return
		}
	}
}

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
