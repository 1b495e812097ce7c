package httpguard_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	w.WriteHeader(map[bool]int{true: http.StatusNoContent, false: http.StatusUnauthorized}[r.Header.Get("X-Password") == "right"])
}

// expiring is a context whose deadline passes when over is closed.
type expiring struct {
	context.Context
	over chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.over }

func (e expiring) Err() error {
	select {
	case <-e.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

const eachStatus = `
endpoints:
  - name: any
    match: ["/"]
    limits:
      - {name: s200, limit: 5, window: 15m, count: {status: [200]}}
      - {name: s401, limit: 5, window: 15m, count: {status: [401]}}
      - {name: s500, limit: 5, window: 15m, count: {status: [500]}}
      - {name: s503, limit: 5, window: 15m, count: {status: [503]}}
      - {name: all, by: all, kind: gcra, limit: 1000, window: 1s}
`

// What an outer handler makes of a response is counted, and not what the guarded handler wrote.
func TestCount_whatTheClientGot(t *testing.T) {
	recovers := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				if recover() != nil {
					w.WriteHeader(http.StatusInternalServerError)
				}
			}()
			next.ServeHTTP(w, r)
		})
	}
	limitsTime := func(next http.Handler) http.Handler { return http.TimeoutHandler(next, time.Hour, "too late") }
	unauthorized := func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) }
	for name, c := range map[string]struct {
		outer   func(http.Handler) http.Handler
		handler func(w http.ResponseWriter, timeOut func())
		want    string
	}{
		"a panic":                        {recovers, func(http.ResponseWriter, func()) { panic("a bug") }, "500"},
		"a panic behind an answer":       {recovers, func(w http.ResponseWriter, _ func()) { unauthorized(w); panic("a bug") }, "401"},
		"in time":                        {limitsTime, func(w http.ResponseWriter, _ func()) { unauthorized(w) }, "401"},
		"an answer, then too late":       {limitsTime, func(w http.ResponseWriter, timeOut func()) { unauthorized(w); timeOut() }, "503"},
		"too late, then an answer":       {limitsTime, func(w http.ResponseWriter, timeOut func()) { timeOut(); unauthorized(w) }, "503"},
		"too late, then a body":          {limitsTime, func(w http.ResponseWriter, timeOut func()) { timeOut(); _, _ = w.Write([]byte("hello")) }, "503"},
		"too late, and no answer at all": {limitsTime, func(_ http.ResponseWriter, timeOut func()) { timeOut() }, "503"},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, rdb *redis.Client) {
				over, got, returned := make(chan struct{}), make(chan struct{}), make(chan struct{})
				timeOut := func() {
					close(over)
					<-got
				}
				s := serve(t, rdb, parse(t, eachStatus), httpguard.Options{}, func(w http.ResponseWriter, _ *http.Request) { c.handler(w, timeOut) })
				guarded := s.Config.Handler
				outer := c.outer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					defer close(returned)
					guarded.ServeHTTP(w, r)
				}))
				s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					outer.ServeHTTP(w, r.WithContext(expiring{r.Context(), over}))
				})
				response, _ := s.ask(t, "GET /", "X-API-Key", "ada")
				close(got)
				<-returned
				if err := s.guard.Close(); err != nil { // waits for refunds
					t.Fatal(err)
				}
				if got := strconv.Itoa(response.StatusCode); got != c.want {
					t.Errorf("the client got %s, want %s", got, c.want)
				}
				var counted []string
				for _, status := range []string{"200", "401", "500", "503"} {
					if taken(t, rdb, "key=ada", "any/s"+status, ratelimit.LimitKindSlidingLog, 5, 15*time.Minute) > 0 {
						counted = append(counted, status)
					}
				}
				if diff := cmp.Diff([]string{c.want}, counted); diff != "" {
					t.Errorf("counted (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A client that closes its side of the connection still reads the answer, so it is counted.
func TestCount_halfClosedConnection(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		began := make(chan bool, 1)
		s := serve(t, rdb, parse(t, eachStatus), httpguard.Options{}, func(w http.ResponseWriter, r *http.Request) {
			began <- true
			<-r.Context().Done()
			w.WriteHeader(http.StatusUnauthorized)
		})
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\nX-API-Key: ada\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-began
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 401") {
			t.Fatalf("%q, %v", answer, err)
		}
		s.Server.Close()
		if err := s.guard.Close(); err != nil {
			t.Fatal(err)
		}
		if n := taken(t, rdb, "key=ada", "any/s401", ratelimit.LimitKindSlidingLog, 5, 15*time.Minute); n != 1 {
			t.Errorf("%d counted", n)
		}
	})
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
				return taken(t, rdb, "key=bob", "login/failures", ratelimit.LimitKindSlidingLog, 5, 15*time.Minute) == 0
			})
		}
	})
}
