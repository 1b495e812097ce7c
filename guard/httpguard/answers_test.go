package httpguard_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
)

func guardOptions(deny int) guard.Options { return guard.Options{CacheSize: deny} }

func TestResponse_ofEachReason(t *testing.T) {
	const minute = `endpoints: [{name: chat, match: ["/"], idempotency: {header: Idempotency-Key, for: 10s}, limits: [{name: minute, limit: 1, window: 1m}]}]`
	const money = `
budgets: [{name: day, budget: "1.00", window: 24h}]
endpoints: [{name: chat, match: ["/"], unbounded: true, cost: {estimate: "%", hold: 24h, penalty: 48h}}]`
	const abuse = `
blocks: [{name: many, attempts: all, tiers: [{threshold: 2, window: 1m, block: 5m}]}]
endpoints: [{name: chat, match: ["/"], unbounded: true, block: many}]`
	const challenge = `endpoints: [{name: chat, match: ["/"], unbounded: true, challenge: {required: true}}]`
	overspend := func(_ http.ResponseWriter, r *http.Request) {
		if err := httpguard.FromContext(r.Context()).Charge.Settle(r.Context(), 1_500_000); err != nil {
			t.Error(err)
		}
	}
	const quota, capacity = "quota-exceeded", "temporary-reduced-capacity"
	page, err := os.ReadFile("../../docs/protect-a-service.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		policy  string
		options httpguard.Options
		handler http.HandlerFunc
		before  int // requests
		headers []string
		break_  func(t *testing.T, rdb *redis.Client)
		want    answer
	}{
		"limit": {policy: minute, before: 1, want: answer{
			Status: 429, Error: "rate_limited", Message: "Too many requests. Try again in 60 seconds.", RetryAfter: "60", Seconds: 60, Context: 60,
			RateLimit: `"minute";r=0;t=60`, RateLimitPolicy: `"minute";q=1;w=60`, Violated: []string{"minute"}, Type: quota,
		}},
		"global": {policy: `
limits: [{name: hour, limit: 10, window: 1h}, {name: all, by: all, limit: 1, window: 3m}]
endpoints: [{name: chat, match: ["/"]}]`, before: 1, want: answer{
			Status: 429, Error: "rate_limited", Message: "Too many requests. Try again in 3 minutes.", RetryAfter: "180", Seconds: 180, Context: 180, Type: quota,
		}},
		"budget": {policy: strings.ReplaceAll(money, "%", "0.60"), before: 1, want: answer{
			Status: 429, Error: "cost_exceeded", Message: "The budget is exhausted. Try again in 24 hours.", RetryAfter: "86400", Seconds: 86400, Context: 86400,
			Violated: []string{"day"}, Type: quota,
		}},
		"penalty": {policy: strings.ReplaceAll(money, "%", "0.60"), before: 1, handler: overspend, want: answer{
			Status: 429, Error: "cost_exceeded", Message: "The budget is exhausted. Try again in 2 days.", RetryAfter: "172800", Seconds: 172800, Context: 172800,
			Violated: []string{"day"}, Type: quota,
		}},
		"too large": {policy: strings.ReplaceAll(money, "%", "0.60"), options: httpguard.Options{Estimate: func(*http.Request) guard.Amounts { return guard.Amounts{Money: 1_000_001} }}, want: answer{
			Status: 429, Error: "cost_exceeded", Message: "The request costs more than the whole budget.", Violated: []string{"day"}, Type: quota,
		}},
		"attempts": {policy: abuse, before: 1, want: answer{
			Status: 429, Error: "too_many_attempts", Message: "Too many attempts. Try again in 5 minutes.", RetryAfter: "300", Seconds: 300, Context: 300, Type: quota,
		}},
		"blocked": {policy: abuse, before: 2, want: answer{
			Status: 429, Error: "blocked", Message: "This client is blocked. Try again in 5 minutes.", RetryAfter: "300", Seconds: 300, Context: 300, Type: quota,
		}},
		"denied": {policy: minute + "\n" + `overrides: {deny: ["key=bad"]}`, headers: []string{"X-API-Key", "bad"}, want: answer{
			Status: 403, Error: "denied", Message: "This client is denied.",
		}},
		"no challenge": {policy: challenge, want: answer{
			Status: 403, Error: "challenge_required", Message: "The request needs a challenge.",
		}},
		"a wrong challenge": {policy: challenge, headers: []string{"X-Challenge", "abc"}, want: answer{
			Status: 403, Error: "challenge_invalid", Message: "The challenge is not valid. Request a new one.",
		}},
		"a challenge that is too long": {policy: challenge, headers: []string{"X-Challenge", strings.Repeat("a", 129)}, want: answer{
			Status: 400, Error: "bad_request", Message: "The challenge of the request is out of bounds.",
		}},
		"a weight that is too large": {policy: minute, options: httpguard.Options{Weight: func(*http.Request) int64 { return 1 << 62 }}, want: answer{
			Status: 400, Error: "bad_request", Message: "The cost of the request is out of bounds.",
		}},
		"two keys": {policy: minute, headers: []string{"X-API-Key", "ada", "X-API-Key", "bob"}, want: answer{
			Status: 400, Error: "bad_request", Message: "The request is ambiguous: two different values verify.",
		}},
		"closed without Redis": {policy: "on_failure: closed\n" + minute, break_: func(t *testing.T, rdb *redis.Client) {
			if err := rdb.Close(); err != nil {
				t.Error(err)
			}
		}, want: answer{
			Status: 503, Error: "limiter_unavailable", Message: "The rate limiter is not available. Try again in 1 second.", RetryAfter: "1", Seconds: 1, Context: 1, Type: capacity,
		}},
		"open without Redis": {policy: "on_failure: open\n" + minute, before: 1, break_: func(_ *testing.T, rdb *redis.Client) { _ = rdb.Close() }, want: answer{Status: 200}},
		"unreadable": {policy: minute, break_: func(t *testing.T, rdb *redis.Client) {
			if err := rdb.RPush(t.Context(), "rl:{key=ada}:sliding_log:60000000:chat/minute", "no time").Err(); err != nil {
				t.Error(err)
			}
		}, want: answer{
			Status: 500, Error: "limiter_unreadable", Message: "The rate limiter returned unreadable data.",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			rdb, _ := inProcess(t)
			s := serve(t, rdb, parse(t, c.policy), c.options, c.handler)
			if c.headers == nil || !strings.HasPrefix(c.headers[0], "X-API") {
				c.headers = append(c.headers, "X-API-Key", "ada")
			}
			for range c.before {
				s.get(t, c.headers...)
			}
			if c.break_ != nil {
				c.break_(t, rdb)
			}
			if diff := cmp.Diff(c.want, s.get(t, c.headers...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if row := fmt.Sprintf("(?m)^\\| %d \\| [^|]*`%s`", c.want.Status, c.want.Error); c.want.Error != "" && !regexp.MustCompile(row).Match(page) {
				t.Errorf("docs/protect-a-service.md has no row of %d %s", c.want.Status, c.want.Error)
			}
		})
	}
}

// A peer on a Unix socket has no address, and the response does not blame what the client sent.
func TestResponse_onAUnixSocket(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, `endpoints: [{name: chat, match: ["/"], limits: [{name: minute, limit: 1, window: 1m}]}]`), httpguard.Options{}, nil)
	socket, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s.Config.Handler}
	go server.Serve(socket)
	defer server.Close()
	var dialer net.Dialer
	s.Client().Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", socket.Addr().String())
	}}
	want := answer{Status: 400, Error: "bad_request", Message: "The client could not be identified."}
	if diff := cmp.Diff(want, s.get(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := s.get(t, "X-API-Key", "ada"); got.Status != http.StatusOK {
		t.Errorf("a client with a key: %+v", got)
	}
}

func TestResponse_toHEADHasNoBody(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, `endpoints: [{name: chat, match: ["GET /"], limits: [{name: minute, limit: 1, window: 1m}]}]`), httpguard.Options{}, nil)
	s.get(t)
	response, body := s.ask(t, "HEAD /")
	checkHeaders(t, response.Header)
	if response.StatusCode != 429 || response.Header.Get("Retry-After") != "60" || body != "" {
		t.Errorf("%d, %v, body %q", response.StatusCode, response.Header, body)
	}
}

func TestRefused_replacesTheResponse(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, `endpoints: [{name: chat, match: ["/"], limits: [{name: minute, limit: 1, window: 1m}]}]`), httpguard.Options{
		Refused: func(w http.ResponseWriter, _ *http.Request, p *httpguard.Problem) {
			http.Error(w, p.Error+" "+string(p.Decision.Reason)+" "+strings.Join(p.Violated, ","), http.StatusTeapot)
		},
	}, nil)
	s.get(t)
	response, body := s.ask(t, "GET /")
	if response.StatusCode != http.StatusTeapot || body != "rate_limited limit minute\n" || response.Header.Get("Retry-After") != "60" {
		t.Errorf("%d, %v, %q", response.StatusCode, response.Header, body)
	}
}
