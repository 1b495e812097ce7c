package httpguard_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

func TestMain(m *testing.M) { engines.Main(m) }

// inProcess returns a client of an embedded server and its clock, which stands still.
func inProcess(t *testing.T) (*redis.Client, *embedded.ManualClock) {
	t.Helper()
	clock := embedded.NewManualClock(engines.Start)
	server := embedded.New(embedded.Options{Clock: clock})
	rdb := server.Client()
	t.Cleanup(func() { _, _ = rdb.Close(), server.Close() })
	return rdb, clock
}

// anyKey verifies every key, so that tests choose their subjects.
type anyKey struct{}

func (anyKey) Verify(_ context.Context, value string) (string, error) { return value, nil }

var keys = policy.Code{Verifiers: map[string]identity.Verifier{"key": anyKey{}}}

// parse returns a policy that identifies clients by API key, with a timeout for busy machines.
func parse(t *testing.T, yaml string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte("version: 1\ntimeout: 20s\n"+clients+yaml))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const clients = `identities:
  key: {header: X-API-Key, verify: {func: true}}
  client: {first: [key, ip]}
`

// A service is a guarded handler on a real socket.
type service struct {
	*httptest.Server
	guard      *guard.Guard
	middleware *httpguard.Middleware
}

func serve(t *testing.T, rdb redis.UniversalClient, p *policy.Policy, o httpguard.Options, handler http.HandlerFunc) *service {
	t.Helper()
	return serveWith(t, rdb, p, guard.Options{CacheSize: -1}, o, handler)
}

func serveWith(t *testing.T, rdb redis.UniversalClient, p *policy.Policy, g guard.Options, o httpguard.Options, handler http.HandlerFunc) *service {
	t.Helper()
	s := new(service)
	var err error
	if s.guard, err = guard.New(rdb, p, g); err != nil {
		t.Fatal(err)
	}
	if o.Code.Verifiers == nil {
		o.Code = keys
	}
	if s.middleware, err = httpguard.New(s.guard, o); err != nil {
		t.Fatal(err)
	}
	if handler == nil {
		handler = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }
	}
	s.Server = httptest.NewServer(s.middleware.Handler(handler))
	t.Cleanup(func() {
		s.Server.Close()
		if err := s.guard.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask sends a request. headers are pairs of name and value.
func (s *service) ask(t *testing.T, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	method, path, _ := strings.Cut(path, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	response, err := s.Client().Do(r)
	if err != nil {
		t.Error(err)
		return &http.Response{Header: http.Header{}}, ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return response, string(body)
}

// get returns the status.
func (s *service) get(t *testing.T, headers ...string) int {
	t.Helper()
	response, _ := s.ask(t, "GET /", headers...)
	checkHeaders(t, response.Header)
	return response.StatusCode
}

// quiet keeps panics of handlers out of the log.
var quiet = log.New(io.Discard, "", 0)

// eventually waits for background work.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not after 20 s: %s", what)
		}
	}
}
