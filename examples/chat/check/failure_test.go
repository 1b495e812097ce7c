package check

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func redisStops(t *testing.T, s *service) {
	fay := s.newClient(t, "192.0.2.40")
	equal(t, "before", fay.ask(t, 1, 10).outcome(), "200")
	fay.renew(t)
	s.redis.Kill()
	get := func(path string) func(int) answer {
		return func(int) answer { return fay.must(t, http.MethodGet, path, "") }
	}
	equal(t, "open: GET /", count(20, get("/")), map[string]int{"200": 20})
	equal(t, "local: GET /v1/models, half of 30", count(20, get("/v1/models")), map[string]int{"200": 15, "429 rate_limited": 5})
	a := fay.ask(t, 1, 10)
	equal(t, "closed: POST /v1/chat", a.outcome(), "503 limiter_unavailable")
	equal(t, "... with Retry-After", a.retryAfter, 1)
	equal(t, "... also without a fingerprint", (&client{service: s, address: fay.address}).ask(t, 1, 10).outcome(), "403 challenge_required")
	equal(t, "closed: POST /v1/challenge", fay.renew(t).outcome(), "503 limiter_unavailable")
	equal(t, "GET /metrics tells of what was decided here", metric(t, s, `rlfunc_guard_fallbacks_total{`, `rlfunc_fallback="local"`), 20)
	equal(t, "GET /healthz", fay.must(t, http.MethodGet, "/healthz", "").body.Redis, "down")
	s.redis.Restart(t)
	await(t, "a challenge is issued again", func() bool { return fay.renew(t).status == http.StatusOK })
	a = fay.ask(t, 1, 10)
	equal(t, "a question is answered again", a.outcome(), "200")
	equal(t, "... and counted by Redis, which has lost its memory", limitLeft(t, a, "minute"), 9)
}

func shutsDown(t *testing.T, s *service) {
	guy := s.newClient(t, "192.0.2.41")
	last := make(chan answer, 1)
	go func() { last <- guy.ask(t, 60, 300) }()
	await(t, "a question is on its way", func() bool { return s.spent(t, guy) == 360 })
	equal(t, "exit status", s.end(t), 0)
	equal(t, "the question is answered", (<-last).outcome(), "200")
	equal(t, "... and settled", s.spent(t, guy), 60+125)
}

// metric adds up the series that have all of some text in them.
func metric(t *testing.T, s *service, text ...string) (sum float64) {
	t.Helper()
	response, err := browser.Get(s.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		if slices.ContainsFunc(text, func(part string) bool { return !strings.Contains(line, part) }) {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += value
	}
	return sum
}

// limitLeft reads r of a limit in RateLimit.
func limitLeft(t *testing.T, a answer, name string) int {
	t.Helper()
	found := regexp.MustCompile(`"` + name + `";r=(\d+)`).FindStringSubmatch(a.limits)
	if found == nil {
		t.Fatalf("no limit %s in RateLimit: %s (%s)", name, a.limits, a.outcome())
	}
	left, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return left
}
