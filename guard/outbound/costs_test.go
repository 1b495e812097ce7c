package outbound_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/outbound"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// estimated is an upstream whose requests cost 1,500 tokens unless their responses tell something else.
func estimated() policy.Upstream {
	u := example()
	u.Budgets = []policy.Budget{{Name: "tokens", Unit: "tokens", Budget: 400_000_000_000, Window: time.Minute}}
	u.Cost = &policy.EndpointCost{Units: map[string]int64{"tokens": 1500}}
	return u
}

// charged returns what all settlements charged.
func (x *fixture) charged() (tokens fcall.Micros) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.settled {
		tokens += s.Actual / 1_000_000
	}
	return tokens
}

// Only a success costs what was estimated, unless the policy says otherwise.
func TestTransport_errorsCostNothing(t *testing.T) {
	for status, want := range map[int]fcall.Micros{
		200: 1500, 202: 1500, 204: 1500, 304: 0, 400: 0, 401: 0, 404: 0, 408: 0, 413: 0, 429: 0, 500: 0, 503: 0, 504: 0, 529: 0,
	} {
		u := estimated()
		u.Attempts, u.MaxWait = 3, new(time.Hour)
		o := outbound.Options{Usage: outbound.Tokens("tokens"), Base: base(func(*http.Request) *http.Response { return respond(status) })}
		virtually(t, u, o, func(t *testing.T, x *fixture) {
			if _, err := x.get(t, "http://api.example.com/v1/"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := x.charged(); got != want {
				t.Errorf("%d was charged %d, want %d", status, got, want)
			}
		})
	}
}

// What was never sent costs nothing, and what may have arrived costs what was estimated.
func TestTransport_costOfARequestWithoutAResponse(t *testing.T) {
	listen := func(serve func(net.Conn)) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() { serve(c); _ = c.Close() }()
			}
		}()
		return l.Addr().String()
	}
	reading := listen(func(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)) })
	hanging := listen(func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	refusing := listen(func(c net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(c))
		_, _ = c.Write([]byte("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"))
	})
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	by := func(proxy string) *http.Transport {
		return &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy}), TLSClientConfig: &tls.Config{}}
	}
	for name, c := range map[string]struct {
		url  string
		base *http.Transport
		want fcall.Micros
	}{
		"nobody listens":              {"http://127.0.0.1:1/", &http.Transport{}, 0},
		"no certificate of the name":  {secure.URL, &http.Transport{}, 0},
		"no TLS":                      {"https://" + reading, &http.Transport{}, 0},
		"TLS that never ends":         {"https://" + hanging, &http.Transport{}, 0},
		"a proxy that nobody runs":    {"https://127.0.0.1:2/", by("127.0.0.1:1"), 0},
		"a proxy that refuses":        {"https://127.0.0.1:2/", by(refusing), 0},
		"a connection that is closed": {"http://" + reading, &http.Transport{}, 1500},
		"an answer that never comes":  {"http://" + hanging, &http.Transport{}, 1500},
	} {
		t.Run(name, func(t *testing.T) {
			u := estimated()
			u.Match = []string{"127.0.0.1/"}
			var spent []guard.Settled
			x := newProcess(t, embedded.New(embedded.Options{}), &policy.Policy{Timeout: time.Minute, Upstreams: []policy.Upstream{u}}, guard.Options{
				Observers: []guard.Observer{func(_ context.Context, e guard.Event) {
					if s, ok := e.(guard.Settled); ok {
						spent = append(spent, s)
					}
				}},
			}, outbound.Options{Base: c.base})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			r, _ := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader("{}"))
			if response, err := x.RoundTrip(r); err == nil {
				t.Errorf("got %s", response.Status)
			}
			_ = x.guard.Close()
			if len(spent) != 1 || spent[0].Actual != c.want*1_000_000 {
				t.Errorf("settled %+v, want %d", spent, c.want)
			}
		})
	}
}

// The last thing that a client does need not be to read the end or to close the body.
func TestTransport_usageOfABodyThatIsLeft(t *testing.T) {
	const events = "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":13,\"completion_tokens\":7}}\n\n"
	for text, kind := range map[string]string{
		`{"usage":{"prompt_tokens":13,"completion_tokens":7}}`: "application/json", events: "text/event-stream",
		"data: {\"usage\":{\"total_tokens\":20}}\n\ndata: [DONE]\n\n": "text/event-stream",
	} {
		o := outbound.Options{Usage: outbound.Tokens("tokens"), Base: base(func(*http.Request) *http.Response {
			response := respond(200, "Content-Type", kind)
			response.Body = io.NopCloser(io.MultiReader(strings.NewReader(text), new(silent)))
			return response
		})}
		virtually(t, estimated(), o, func(t *testing.T, x *fixture) {
			ctx, cancel := context.WithCancel(t.Context())
			r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.example.com/v1/", nil)
			response, err := x.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(response.Body, make([]byte, len(text))); err != nil {
				t.Error(err)
			}
			cancel()
			synctest.Wait()
			if got := x.charged(); got != 20 {
				t.Errorf("%s: charged %d, want 20", kind, got)
			}
		})
	}
}

// An own Usage gets whole documents, and of one that is too long its usage.
func TestTransport_documents(t *testing.T) {
	const part = `{"usageMetadata":{"n":1},"model":"m"}`
	long := `{"text":"` + strings.Repeat("x", 1<<20) + `","usage" :{"n":2}}`
	for _, c := range []struct {
		kind, text string
		want       []string
	}{
		{"application/json", part, []string{part}},
		{"application/json", `{"billed":5}`, []string{`{"billed":5}`}},
		{"application/json", long, []string{`{"usage":{"n":2}}`}},
		{"application/json", "[" + part + "," + part + "]", []string{part, part}},
		{"application/x-ndjson", `{"a":1}` + "\n" + `{"done":true,"eval_count":3}`, []string{`{"done":true,"eval_count":3}`}},
		{"text/event-stream", "data: " + part + "\n\ndata: {}\n\n" + "data: " + long + "\n\n", []string{part, `{"usage":{"n":2}}`}},
	} {
		var got []string
		o := outbound.Options{
			Usage: func(_ *http.Response, documents [][]byte) (guard.Amounts, bool) {
				for _, d := range documents {
					got = append(got, string(d))
				}
				return guard.Amounts{}, false
			},
			Base: base(func(*http.Request) *http.Response {
				response := respond(200, "Content-Type", c.kind)
				response.Body = io.NopCloser(strings.NewReader(c.text))
				return response
			}),
		}
		virtually(t, estimated(), o, func(t *testing.T, x *fixture) {
			if _, err := x.get(t, "http://api.example.com/v1/"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%.60s (-want +got):\n%s", c.text, diff)
			}
		})
	}
}

// A gateway whose client asks for gzip learns the usage, and tells its clients what the API tells it.
func TestErrorHandler_behindAReverseProxy(t *testing.T) {
	answer := func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, packed(`{"usage":{"prompt_tokens":20000,"completion_tokens":10000}}`))
			return
		}
		_, _ = io.WriteString(w, `{"usage":{"prompt_tokens":20000,"completion_tokens":10000}}`)
	}
	api := httptest.NewServer(http.HandlerFunc(answer))
	defer api.Close()
	u := estimated()
	u.Match, u.Limits = []string{"127.0.0.1/"}, []policy.Limit{{Name: "minute", Limit: 1, Window: 30 * time.Second}}
	var mu sync.Mutex
	var spent []guard.Settled
	x := newProcess(t, embedded.New(embedded.Options{}), &policy.Policy{Timeout: time.Minute, Upstreams: []policy.Upstream{u}}, guard.Options{
		Observers: []guard.Observer{func(_ context.Context, e guard.Event) {
			if s, ok := e.(guard.Settled); ok {
				mu.Lock()
				defer mu.Unlock()
				spent = append(spent, s)
			}
		}},
	}, outbound.Options{Base: &http.Transport{}, Usage: outbound.Tokens("tokens")})
	to, _ := url.Parse(api.URL)
	gateway := httptest.NewServer(&httputil.ReverseProxy{
		Transport: x, ErrorHandler: outbound.ErrorHandler, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
	})
	defer gateway.Close()
	for _, want := range []struct {
		status int
		after  string
	}{{200, ""}, {429, "31"}} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, gateway.URL, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != want.status || response.Header.Get("Retry-After") != want.after || !json.Valid(text) {
			t.Errorf("got %s, Retry-After %q: %s", response.Status, response.Header.Get("Retry-After"), text)
		}
	}
	_ = x.guard.Close()
	if len(spent) != 1 || spent[0].Actual != 30_000_000_000 {
		t.Errorf("settled %+v, want 30000", spent)
	}

	for want, err := range map[int]error{502: errors.New("refused"), 503: guard.ErrUnavailable} {
		w := httptest.NewRecorder()
		if outbound.ErrorHandler(w, httptest.NewRequest(http.MethodGet, "/", nil), err); w.Code != want {
			t.Errorf("%v: %d, want %d", err, w.Code, want)
		}
	}
}

// packed returns a text compressed by gzip.
func packed(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}
