package httpguard_test

import (
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// onEach runs a scenario on each engine. Windows are hours, so that none ends on a real clock.
func onEach(t *testing.T, scenario func(t *testing.T, rdb *redis.Client)) {
	t.Helper()
	for _, e := range engines.Ends(t) {
		t.Run(e.Name, func(t *testing.T) { scenario(t, e.Client(t)) })
	}
}

// atOnce sends n concurrent requests and counts their statuses. headers returns those of request i.
func (s *service) atOnce(t *testing.T, n int, headers func(i int) []string) map[int]int {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	got := map[int]int{}
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			response, _ := s.ask(t, "GET /", headers(i)...)
			checkHeaders(t, response.Header)
			mu.Lock()
			defer mu.Unlock()
			got[response.StatusCode]++
		})
	}
	close(start)
	all.Wait()
	return got
}

func expect(t *testing.T, what string, want, got map[int]int) {
	t.Helper()
	if !maps.Equal(want, got) {
		t.Errorf("%s: statuses are %v, want %v", what, got, want)
	}
}

// taken returns the used part of a limit.
func taken(t *testing.T, rdb *redis.Client, subject fcall.Subject, name string, kind ratelimit.LimitKind, limit int64) int64 {
	t.Helper()
	limits, err := ratelimit.New(rdb, fcall.Options{Namespace: "guard"})
	if err != nil {
		t.Fatal(err)
	}
	peek, err := limits.CheckPeek(t.Context(), ratelimit.CheckPeekParams{
		Subject: subject, Limits: ratelimit.MustPackLimit(ratelimit.Limit{Name: name, Kind: kind, Limit: limit, Window: time.Hour}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return limit - peek.Limits[0].Remaining
}

const tenAnHour = `endpoints: [{name: chat, match: ["/"], idempotency: {header: Idempotency-Key, for: 1h, repeats: 8}, limits: [{name: hour, limit: 10, window: 1h}]}]`

// repeated returns headers of one key, with an ID for each request.
func repeated(id func(i int) string) func(i int) []string {
	return func(i int) []string { return []string{"X-API-Key", "ada", "Idempotency-Key", id(i)} }
}

func number(i int) string { return "c" + string(rune('A'+i)) }

func TestServers_concurrentRequestsOfOneKey(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		s := serve(t, rdb, parse(t, tenAnHour), httpguard.Options{}, nil)
		expect(t, "with one ID", map[int]int{200: 9}, s.atOnce(t, 9, repeated(func(int) string { return "one" })))
		if n := taken(t, rdb, "key=ada", "chat/hour", ratelimit.LimitKindSlidingLog, 10); n != 1 {
			t.Errorf("one receipt was charged %d", n)
		}
		expect(t, "with fifty more", map[int]int{200: 9, 429: 41}, s.atOnce(t, 50, repeated(number)))
		expect(t, "the first again, repeated as often as it may be", map[int]int{429: 2}, s.atOnce(t, 2, repeated(func(int) string { return "one" })))
	})
}

// The connection breaks after the response; the client retries with the same receipt.
func TestServers_retryAfterACutConnectionIsChargedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		var mu sync.Mutex
		served := 0
		s := serve(t, rdb, parse(t, tenAnHour), httpguard.Options{}, func(http.ResponseWriter, *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if served++; served%2 == 1 {
				panic(http.ErrAbortHandler)
			}
		})
		s.Client().Transport.(*http.Transport).DisableKeepAlives = true // else it retries by itself
		for range 3 {
			key := fcall.NewToken()
			for attempt := range 2 {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Idempotency-Key", key)
				r.Header.Set("X-API-Key", "ada")
				response, err := s.Client().Do(r)
				if (err != nil) != (attempt == 0) {
					t.Fatalf("attempt %d: %v", attempt+1, err)
				}
				if err == nil {
					_ = response.Body.Close()
				}
			}
		}
		if n := taken(t, rdb, "key=ada", "chat/hour", ratelimit.LimitKindSlidingLog, 10); n != 3 {
			t.Errorf("three requests, each sent twice, were charged %d", n)
		}
	})
}

func TestServers_neighboursShareASlash64(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		p := parse(t, tenAnHour)
		p.Identities["ip"] = policy.Identity{TrustedProxies: []string{"127.0.0.1"}}
		s := serve(t, rdb, p, httpguard.Options{}, nil)
		from := func(addr string) func(int) []string {
			return func(i int) []string { return []string{"X-Forwarded-For", addr + string(rune('a'+i%6))} }
		}
		expect(t, "a /64", map[int]int{200: 10, 429: 40}, s.atOnce(t, 50, from("2001:db8:1:2::")))
		expect(t, "the next one", map[int]int{200: 10, 429: 10}, s.atOnce(t, 20, from("2001:db8:1:3::")))
		expect(t, "IPv4", map[int]int{200: 1}, s.atOnce(t, 1, func(int) []string { return []string{"X-Forwarded-For", "203.0.113.7"} }))
		expect(t, "the same, mapped", map[int]int{200: 9, 429: 1}, s.atOnce(t, 10, func(int) []string { return []string{"X-Forwarded-For", "::ffff:203.0.113.7"} }))
	})
}

func TestServers_refusalsAreRefunded(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		s := serve(t, rdb, parse(t, `
limits: [{name: all, by: all, kind: fixed_window, limit: 30, window: 1h}]
endpoints:
  - name: chat
    match: ["/"]
    idempotency: {header: Idempotency-Key, for: 1h, repeats: 8}
    limits:
      - {name: long, kind: gcra, limit: 8, window: 1h}
      - {name: wide, kind: sliding_counter, limit: 20, window: 1h}
`), httpguard.Options{}, nil)
		users := []string{"ada", "bob", "cyd", "dan", "eve"}
		got := s.atOnce(t, 100, func(i int) []string { return []string{"X-API-Key", users[i%len(users)]} })
		// 20 requests of each of five: 8 of each might pass, 40, and the global limit is 30. A refusal by one side that has not given
		// back yet may refuse one more on the other, so fewer may pass, never more.
		if got[200]+got[429] != 100 || got[200] > 30 || got[200] < 1 {
			t.Errorf("statuses are %v", got)
		}
		if err := s.guard.Close(); err != nil { // waits for refunds
			t.Fatal(err)
		}
		long, wide := int64(0), int64(0)
		for _, user := range users {
			long += taken(t, rdb, fcall.Subject("key="+user), "chat/long", ratelimit.LimitKindGCRA, 8)
			wide += taken(t, rdb, fcall.Subject("key="+user), "chat/wide", ratelimit.LimitKindSlidingCounter, 20)
		}
		all := taken(t, rdb, "global/all", "all", ratelimit.LimitKindFixedWindow, 30)
		if want := int64(got[200]); long != want || wide != want || all != want {
			t.Errorf("%d were admitted; used are %d, %d, and %d of the global limit", want, long, wide, all)
		}
	})
}

func TestServers_globalLimitCountsDuplicates(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		s := serve(t, rdb, parse(t, `
limits: [{name: all, by: all, limit: 30, window: 1h}]
`+tenAnHour), httpguard.Options{}, nil)
		expect(t, "one receipt", map[int]int{200: 30, 429: 20}, s.atOnce(t, 50, repeated(func(int) string { return "one" })))
	})
}

func TestServers_refusalByOneLimitChargesNoOther(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		s := serve(t, rdb, parse(t, `
endpoints:
  - name: chat
    match: ["/"]
    limits: [{name: hour, limit: 3, window: 1h}, {name: minute, kind: gcra, limit: 10, window: 1h}]
`), httpguard.Options{}, nil)
		expect(t, "at once", map[int]int{200: 3, 429: 47}, s.atOnce(t, 50, func(int) []string { return []string{"X-API-Key", "ada"} }))
		if n := taken(t, rdb, "key=ada", "chat/minute", ratelimit.LimitKindGCRA, 10); n != 3 {
			t.Errorf("%d of the minute are used", n)
		}
	})
}

func TestServers_challengeIsConsumedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		s := serve(t, rdb, parse(t, `
endpoints: [{name: chat, match: ["/"], idempotency: {header: Idempotency-Key, for: 1h, repeats: 8}, limits: [{name: hour, limit: 10, window: 1h}], challenge: {required: true, payload: path}}]
`), httpguard.Options{}, nil)
		challenges, err := challenge.New(rdb, fcall.Options{Namespace: "guard"})
		if err != nil {
			t.Fatal(err)
		}
		issue := func(subject fcall.Subject, payload string) string {
			t.Helper()
			issued, err := challenges.Issue(t.Context(), challenge.IssueParams{Subject: subject, Token: fcall.NewToken(), TTL: time.Minute, Payload: payload})
			if err != nil {
				t.Fatal(err)
			}
			return issued.Token
		}
		token := issue("key=ada", "/")
		expect(t, "without receipts", map[int]int{200: 1, 403: 49}, s.atOnce(t, 50, func(int) []string { return []string{"X-API-Key", "ada", "X-Challenge", token} }))
		token = issue("key=ada", "/")
		expect(t, "as one receipt", map[int]int{200: 9, 403: 41}, s.atOnce(t, 50, func(int) []string {
			return []string{"X-API-Key", "ada", "Idempotency-Key", "one", "X-Challenge", token}
		}))
		token = issue("key=ada", "/elsewhere")
		expect(t, "issued for another path", map[int]int{403: 5}, s.atOnce(t, 5, func(int) []string { return []string{"X-API-Key", "ada", "X-Challenge", token} }))
		var tokens []string
		for range 50 {
			tokens = append(tokens, issue("key=bob", "/"))
		}
		expect(t, "fifty of them", map[int]int{200: 10, 429: 40}, s.atOnce(t, 50, func(i int) []string { return []string{"X-API-Key", "bob", "X-Challenge", tokens[i]} }))
		// A refusal by the limit does not consume the challenge.
		unused := 0
		for _, token := range tokens {
			peek, err := challenges.Peek(t.Context(), challenge.PeekParams{Subject: "key=bob", Token: token})
			if err != nil {
				t.Fatal(err)
			}
			if peek.State == challenge.PeekStateUnused {
				unused++
			}
		}
		if unused != 40 {
			t.Errorf("%d challenges are unused, want 40", unused)
		}
	})
}
