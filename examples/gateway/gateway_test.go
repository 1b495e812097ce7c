package gateway

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
)

func TestGateways(t *testing.T) {
	s := start(t)
	clients := map[string]*client{}
	for i, name := range names {
		clients[name] = s.client(t, name, fmt.Sprintf("127.0.0.%d", 10+i))
		s.passExactly(t, clients[name], name)
		s.rejectForgedRequests(t, clients[name], name)
	}
	l := s.startLoad(t)
	well := l.begin(t)

	// A changed policy counts for clients that were refused.
	s.writePolicy(t, "rate: 10/1h", "rate: 12/1h")
	for name, c := range clients {
		passed := 0
		eventually(t, name+" follows the policy", func() bool {
			if c.get(t, "/v1/chat").status == http.StatusOK {
				passed++
			}
			return passed == 2
		})
		if got := c.atOnce(t, 20); !maps.Equal(got, map[int]int{429: 20}) {
			t.Errorf("%s, with 12 an hour after 12: %v", name, got)
		}
	}
	well.expect(t, "with a new policy", 200, 429)

	// Without Redis each limit has its failure mode: closed for chat, local for the rest.
	s.redis.Kill()
	down := l.begin(t)
	for i, name := range names {
		clients[name] = s.client(t, name, fmt.Sprintf("127.0.0.%d", 20+i)) // not refused before
		a := clients[name].get(t, "/v1/chat")
		if a.status != 503 || a.header.Get("Retry-After") != "1" || !strings.Contains(a.body, `"error":"limiter_unavailable"`) {
			t.Errorf("%s without Redis: %+v", name, a)
		}
	}
	down.expect(t, "without Redis", 200, 429)
	s.redis.Restart(t)
	for name, c := range clients {
		eventually(t, name+" counts in Redis", func() bool { return c.get(t, "/v1/chat").status == http.StatusOK })
	}

	// Without serve nothing passes.
	s.serve.Kill()
	dead := l.begin(t)
	before := s.reached.Load()
	dead.expect(t, "without serve", 503)
	if n := s.reached.Load() - before; n > 0 {
		t.Errorf("%d requests reached the service without serve", n)
	}
	s.startServe(t)
	for name, c := range clients {
		eventually(t, name+" finds serve again", func() bool { return c.get(t, "/").status == http.StatusOK })
	}
	l.begin(t).expect(t, "at the end", 200, 429)
	l.stop()
	if reached, passed := s.reached.Load(), s.requests.Load(); reached != passed {
		t.Errorf("%d requests reached the service, and %d have the service's answer", reached, passed)
	}
}

// atOnce sends n concurrent requests and counts their statuses.
func (c *client) atOnce(t *testing.T, n int) map[int]int {
	var mu sync.Mutex
	var all sync.WaitGroup
	got := map[int]int{}
	for range n {
		all.Go(func() {
			a := c.get(t, "/v1/chat")
			mu.Lock()
			defer mu.Unlock()
			got[a.status]++
		})
	}
	all.Wait()
	return got
}

func (s *stack) passExactly(t *testing.T, c *client, name string) {
	before := s.reached.Load()
	if got := c.atOnce(t, 50); !maps.Equal(got, map[int]int{200: 10, 429: 40}) || s.reached.Load() != before+10 {
		t.Errorf("%s: 50 at once against 10 an hour: %v, and %d reached the service", name, got, s.reached.Load()-before)
	}
	a := c.get(t, "/v1/chat")
	for field, want := range map[string]string{
		"Content-Type": "application/problem+json", "Cache-Control": "no-store",
		"RateLimit": `"hour";r=0;t=3600`, "RateLimit-Policy": `"hour";q=10;w=3600`, "Retry-After": "3600",
	} {
		// The client's first request may have been a second ago.
		if got := a.header.Get(field); got != want && got != strings.Replace(want, "3600", "3599", 1) {
			t.Errorf("%s: %s is %q, want %q", name, field, got, want)
		}
	}
	if a.status != 429 || !strings.Contains(a.body, `"error":"rate_limited"`) {
		t.Errorf("%s: %d %s", name, a.status, a.body)
	}
	a = c.get(t, "/")
	if a.status != 200 || a.header.Get("RateLimit") != `"second";r=999;t=1` || a.header.Get("RateLimit-Policy") == "" || a.body != "hello\n" {
		t.Errorf("%s: %+v", name, a)
	}
}

// A refused client stays refused whatever it sends.
func (s *stack) rejectForgedRequests(t *testing.T, c *client, name string) {
	before := s.reached.Load()
	for _, headers := range [][]string{
		{"X-Original-Method", "GET", "X-Original-URI", "/", "X-Original-Host", "h", "X-Forwarded-For", "127.9.9.9"},
		{"X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/", "X-Forwarded-Host", "h", "Forwarded", "for=127.9.9.9"},
		{"X-Original-URL", "http://h/", "X-Real-IP", "127.9.9.9", "X-HTTP-Method-Override", "PUT"},
		{"Connection", "X-Forwarded-For, X-Forwarded-Uri, X-Original-URI"},
		{"X-Forwarded-For", "\xff\xfe", "X-Padding", "\xff"},
	} {
		if a := c.get(t, "/v1/chat", headers...); a.status != 429 {
			t.Errorf("%s: %d %s for %q", name, a.status, a.body, headers)
		}
	}
	for _, path := range []string{"/v1%2Fchat", "//v1/chat", "/x/../v1/chat", "/v1/chat/", "/v1/chat?x=%ff"} {
		if a := c.get(t, path); a.status != 429 && a.status != 400 {
			t.Errorf("%s: %s is %d", name, path, a.status)
		}
	}
	if a := c.get(t, "/", "X-Padding", strings.Repeat("a", 1<<20)); a.status != 0 && (a.status < 400 || a.status == 500) {
		t.Errorf("%s: a header of 1 MiB is %d", name, a.status)
	}
	if n := s.reached.Load() - before; n > 0 {
		t.Errorf("%s: %d forged requests reached the service", name, n)
	}
}
