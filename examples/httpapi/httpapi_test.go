package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/loader"
)

// A fixture is the service over HTTP, in front of an embedded Redis behind a real socket, on virtual time.
type fixture struct {
	url   string
	redis *embedded.Server
	clock *embedded.ManualClock
}

func start(t *testing.T) fixture {
	t.Helper()
	clock := embedded.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	server := embedded.New(embedded.Options{Clock: clock})
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := connect("redis://" + addr.String() + "?protocol=2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := loader.Ensure(t.Context(), client, ratelimit.Library); err != nil {
		t.Fatal(err)
	}
	limits, err := ratelimit.New(client, fcall.Options{Namespace: "httpapi"})
	if err != nil {
		t.Fatal(err)
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello\n")) })
	web := httptest.NewServer(limited(hello, limits, settings{limit: 10, window: time.Minute}))
	t.Cleanup(func() {
		web.Close()
		client.Close()
		server.Close()
	})
	return fixture{url: web.URL, redis: server, clock: clock}
}

// An answer is what a client of the service sees.
type answer struct {
	Status     int
	RetryAfter string
	Error      string // of the problem body
}

func (f fixture) get(t *testing.T, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	defer response.Body.Close()
	a := answer{Status: response.StatusCode, RetryAfter: response.Header.Get("Retry-After")}
	if a.Status != http.StatusOK {
		var body struct {
			Error  string
			Status int
		}
		if err := json.NewDecoder(response.Body).Decode(&body); err != nil || body.Status != a.Status {
			t.Errorf("body of %d says %d: %v", a.Status, body.Status, err)
		}
		a.Error = body.Error
	}
	return a
}

func TestService_fiftyAtOnceTenPass(t *testing.T) {
	f := start(t)
	var mu sync.Mutex
	var wg sync.WaitGroup
	got := map[answer]int{}
	for range 50 {
		wg.Go(func() {
			a := f.get(t)
			mu.Lock()
			defer mu.Unlock()
			got[a]++
		})
	}
	wg.Wait()
	want := map[answer]int{
		{Status: 200}: 10,
		{Status: 429, RetryAfter: "60", Error: "rate_limited"}: 40,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestService_retryAfterIsRoundedUp(t *testing.T) {
	f := start(t)
	for range 10 {
		f.get(t)
	}
	refused := func(seconds string) answer { return answer{429, seconds, "rate_limited"} }
	for _, step := range []struct {
		advance time.Duration
		want    answer
	}{
		{0, refused("60")},
		{time.Microsecond, refused("60")},
		{59*time.Second - 2*time.Microsecond, refused("2")},
		{time.Microsecond, refused("1")},
		{time.Second - time.Microsecond, refused("1")},
		{time.Microsecond, answer{Status: 200}},
	} {
		f.clock.Advance(step.advance)
		if diff := cmp.Diff(step.want, f.get(t)); diff != "" {
			t.Errorf("at %s (-want +got):\n%s", f.clock.Now(), diff)
		}
	}
}

func TestService_idempotencyKeyIsCountedOnce(t *testing.T) {
	f := start(t)
	for range 30 {
		if a := f.get(t, "Idempotency-Key", "order-1"); a.Status != 200 {
			t.Fatalf("a repeated request gets %+v", a)
		}
	}
	passed := 0
	for range 12 {
		if f.get(t).Status == 200 {
			passed++
		}
	}
	if passed != 9 {
		t.Errorf("%d more requests passed, want 9", passed)
	}
	want := answer{Status: 400, Error: "bad_request"}
	if diff := cmp.Diff(want, f.get(t, "Idempotency-Key", strings.Repeat("x", 257))); diff != "" {
		t.Errorf("a key that is too long (-want +got):\n%s", diff)
	}
}

func TestService_clientsAreApart(t *testing.T) {
	f := start(t)
	for _, client := range [][]string{nil, {"X-API-Key", "a"}, {"X-API-Key", "127.0.0.1"}, {"X-API-Key", "}{"}} {
		passed := 0
		for range 12 {
			if f.get(t, client...).Status == 200 {
				passed++
			}
		}
		if passed != 10 {
			t.Errorf("client %v: %d passed, want 10", client, passed)
		}
	}
}

func TestService_redisGoneIs503(t *testing.T) {
	f := start(t)
	f.get(t)
	f.redis.Close()
	want := answer{Status: 503, Error: "limiter_unavailable"}
	for range 3 {
		if diff := cmp.Diff(want, f.get(t)); diff != "" {
			t.Errorf("without Redis (-want +got):\n%s", diff)
		}
	}
}

func TestService_unreadableStateIs500(t *testing.T) {
	f := start(t)
	key := fcall.Key("httpapi", "ip=127.0.0.1", "log")
	if err := f.redis.Process(t.Context(), redis.NewCmd(t.Context(), "RPUSH", key, "what")); err != nil {
		t.Fatal(err)
	}
	want := answer{Status: 500, Error: "limiter_unreadable"}
	if diff := cmp.Diff(want, f.get(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSubject(t *testing.T) {
	for _, test := range []struct {
		remote, key string
		want        fcall.Subject
	}{
		{"192.0.2.1:1234", "", "ip=192.0.2.1"},
		{"[::ffff:192.0.2.1]:1234", "", "ip=192.0.2.1"},
		{"[2001:db8::1]:7334", "", "ip=2001:db8::/64"},
		{"[2001:db8::2]:7335", "", "ip=2001:db8::/64"},
		{"[2001:db8:0:1::2]:7335", "", "ip=2001:db8:0:1::/64"},
		{"192.0.2.1:1234", "192.0.2.1", "key=192.0.2.1"},
		{"@", "", "addr=@"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = test.remote
		r.Header.Set("X-API-Key", test.key)
		if got := subject(r); got != test.want {
			t.Errorf("subject of %s with key %q is %q, want %q", test.remote, test.key, got, test.want)
		}
	}
}

// The whole program: it starts without Redis, responds with 503, and ends on a signal.
func TestRun_startsWithoutRedisAndEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, listener, settings{redis: "redis://127.0.0.1:1", limit: 10, window: time.Minute})
	}()
	want := answer{Status: 503, Error: "limiter_unavailable"}
	if diff := cmp.Diff(want, fixture{url: "http://" + listener.Addr().String() + "/hello"}.get(t)); diff != "" {
		t.Errorf("without Redis (-want +got):\n%s", diff)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRun_redisComesLaterAndTheLibraryIsLoaded(t *testing.T) {
	server := embedded.New(embedded.Options{})
	defer server.Close()
	path := filepath.Join(t.TempDir(), "redis.sock")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, listener, settings{redis: "unix://" + path + "?protocol=2", limit: 10, window: time.Minute})
	}()
	f := fixture{url: "http://" + listener.Addr().String() + "/hello"}
	if a := f.get(t); a.Status != 503 {
		t.Errorf("before Redis is there: %+v", a)
	}
	if _, err := server.Listen(path); err != nil {
		t.Fatal(err)
	}
	if a := f.get(t); a.Status != 200 {
		t.Errorf("once Redis is there: %+v", a)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRun_badURL(t *testing.T) {
	err := run(t.Context(), nil, settings{redis: "http://x"})
	if err == nil || !strings.Contains(err.Error(), "parse Redis URL") {
		t.Errorf("error %v", err)
	}
}
