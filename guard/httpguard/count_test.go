package httpguard_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/guard/httpguard"
)

// A login: 5 failures in 15 minutes by address and by account, and any number of successes.
const login = `
endpoints:
  - name: login
    match: ["/"]
    limits:
      - {name: failures, limit: 5, window: 15m, count: {status: [401, 403]}}
      - {name: all, by: all, kind: gcra, limit: 1000, window: 1s}
`

// passwords answers a request by its header.
func passwords(w http.ResponseWriter, r *http.Request) {
	switch r.Header.Get("X-Password") {
	case "right":
		w.WriteHeader(http.StatusNoContent)
	case "panics":
		panic(http.ErrAbortHandler)
	case "panics with an answer":
		w.WriteHeader(http.StatusUnauthorized)
		panic(http.ErrAbortHandler)
	case "skipped":
		httpguard.FromContext(r.Context()).Skip(r.Context())
		w.WriteHeader(http.StatusUnauthorized)
	case "counted":
		httpguard.FromContext(r.Context()).Count()
	case "silent":
	default:
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func TestCount_onlyResponsesThatCount(t *testing.T) {
	for _, c := range []struct {
		password string
		counted  int64
	}{
		{"wrong", 1},
		{"right", 0},
		{"silent", 0}, // net/http answers 200
		{"panics", 0},
		{"panics with an answer", 1},
		{"skipped", 0},
		{"counted", 1},
	} {
		onEach(t, func(t *testing.T, rdb *redis.Client) {
			s := serve(t, rdb, parse(t, login), httpguard.Options{}, passwords)
			s.Config.ErrorLog = quiet
			ask := func() {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("X-API-Key", "ada")
				r.Header.Set("X-Password", c.password)
				if response, err := s.Client().Do(r); err == nil {
					_ = response.Body.Close()
				} else if !strings.HasPrefix(c.password, "panics") {
					t.Fatal(err)
				}
			}
			s.Client().Transport.(*http.Transport).DisableKeepAlives = true // else it retries by itself
			for range 3 {
				ask()
			}
			s.Server.Close()                        // waits for the handlers
			if err := s.guard.Close(); err != nil { // waits for refunds
				t.Fatal(err)
			}
			if n := taken(t, rdb, "key=ada", "login/failures", ratelimit.LimitKindSlidingLog, 5); n != 3*c.counted {
				t.Errorf("%s: three requests were charged %d", c.password, n)
			}
		})
	}
}

// Each of 50 concurrent guesses is charged before its response, so at most 5 get one.
func TestCount_concurrentGuesses(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		s := serve(t, rdb, parse(t, login), httpguard.Options{}, passwords)
		expect(t, "wrong", map[int]int{401: 5, 429: 45}, s.atOnce(t, 50, func(int) []string { return []string{"X-API-Key", "ada"} }))
		expect(t, "the right one, too late", map[int]int{429: 1}, s.atOnce(t, 1, func(int) []string { return []string{"X-API-Key", "ada", "X-Password", "right"} }))
		for range 20 {
			expect(t, "another account", map[int]int{204: 1}, s.atOnce(t, 1, func(int) []string { return []string{"X-API-Key", "bob", "X-Password", "right"} }))
			eventually(t, "its success is refunded", func() bool {
				return taken(t, rdb, "key=bob", "login/failures", ratelimit.LimitKindSlidingLog, 5) == 0
			})
		}
	})
}
