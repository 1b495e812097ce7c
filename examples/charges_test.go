package examples

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/outbound"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// The Go of docs/budgets.md and docs/outbound.md is code of this file.
func TestCharges_pagesMatchExamples(t *testing.T) {
	code := strings.ReplaceAll(read(t, "charges_test.go"), "\n\t", "\n")
	for _, page := range []string{"../docs/budgets.md", "../docs/outbound.md"} {
		for _, block := range blocks(t, page, "go") {
			if !strings.Contains(code, "\n"+block) {
				t.Errorf("examples/charges_test.go lacks this Go of %s:\n%s", page, block)
			}
		}
	}
}

func callAPI(ctx context.Context, g *guard.Guard, url string, retryIn func(time.Duration)) error {
	transport, err := outbound.New(g, outbound.Options{Usage: outbound.Tokens("tokens")})
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport}

	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(r)
	if err == nil {
		return answer.Body.Close()
	}
	var refused *outbound.RefusedError
	if errors.As(err, &refused) {
		retryIn(refused.Decision.RetryAfter)
	}
	return err
}

func gateway(rewrite func(*httputil.ProxyRequest), transport *outbound.Transport) *httputil.ReverseProxy {
	proxy := &httputil.ReverseProxy{Rewrite: rewrite, Transport: transport, ErrorHandler: outbound.ErrorHandler}
	return proxy
}

func callModel(ctx context.Context, transport *outbound.Transport, callTheModel func(context.Context) int64) error {
	call, err := transport.Acquire(ctx, guard.Request{Endpoint: "openai", Units: []guard.Amount{{Unit: "tokens", N: 900}}})
	if err != nil {
		return err
	}
	tokens := callTheModel(ctx)
	call.End(ctx, guard.End{Used: &guard.Amounts{Units: []guard.Amount{{Unit: "tokens", N: tokens}}}})
	return nil
}

// guardOf returns the guard of a policy, on a server whose clock stands still.
func guardOf(t *testing.T, text string) *guard.Guard {
	t.Helper()
	limits, err := policy.Parse("limits.yaml", []byte(text+"timeout: 20s\n"))
	if err != nil {
		t.Fatal(err)
	}
	server := embedded.New(embedded.Options{Clock: embedded.NewManualClock(now)})
	t.Cleanup(func() { server.Close() })
	g, err := guard.New(server, limits, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func TestOutbound_isWhatThePageSays(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(api.Close)
	g := guardOf(t, strings.ReplaceAll(blocks(t, "../docs/outbound.md", "yaml")[0], "api.openai.com", "127.0.0.1"))
	ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
	defer cancel()
	var err error
	var again time.Duration
	for range 3 { // the burst of pace, and one more
		if err = callAPI(ctx, g, api.URL+"/v1/models", func(d time.Duration) { again = d }); err != nil {
			break
		}
	}
	var refused *outbound.RefusedError
	if !errors.As(err, &refused) || again != time.Second {
		t.Fatalf("after the burst: %v, again in %v", err, again)
	}
	said := strings.ReplaceAll(blocks(t, "../docs/outbound.md", "text")[0], "api.openai.com", "127.0.0.1")
	if diff := cmp.Diff(said, refused.Error()+"\n"); diff != "" {
		t.Errorf("the error (-page +got):\n%s", diff)
	}
	transport, err := outbound.New(g, outbound.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	toAPI := func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: api.Listener.Addr().String()}) }
	gateway(toAPI, transport).ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/models", nil))
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
		t.Errorf("behind a gateway: %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	if err := callModel(t.Context(), transport, func(context.Context) int64 { return 700 }); err != nil {
		t.Fatal(err)
	}
	call, err := transport.Acquire(t.Context(), guard.Request{Endpoint: "openai", Units: []guard.Amount{{Unit: "tokens", N: 1}}})
	if err != nil || call.Decision.Budgets[0].Spent != 701_000_000 {
		t.Errorf("after a call that used 700 tokens: %+v, %v", call, err)
	}
}

func settle(r *http.Request) error {
	charge := httpguard.FromContext(r.Context()).Charge
	err := charge.Settle(r.Context(), 31_500, guard.Amount{Unit: "tokens", N: 2710}) // 0.0315 of money
	return err
}

func TestBudgets_settleWhatThePageSays(t *testing.T) {
	g := guardOf(t, `version: 1
budgets: [{name: day, by: all, budget: 20, window: 1d}, {name: tokens, by: all, unit: tokens, budget: 40000, window: 1m}]
endpoints:
  - {name: chat, match: ["/"], unbounded: true, cost: {estimate: 0.02, units: {tokens: 4000}}}
`)
	m, err := httpguard.New(g, httpguard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var spent []fcall.Micros
	h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for _, b := range httpguard.FromContext(r.Context()).Budgets {
			spent = append(spent, b.Spent)
		}
		if err := settle(r); err != nil {
			t.Error(err)
		}
	}))
	for range 2 {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil))
	}
	if diff := cmp.Diff([]fcall.Micros{20_000, 4_000_000_000, 51_500, 6_710_000_000}, spent); diff != "" {
		t.Errorf("spent, with the request's own estimate (-want +got):\n%s", diff)
	}
}
