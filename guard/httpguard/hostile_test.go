package httpguard_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

const hostile = `
endpoints:
  - name: chat
    match: ["/"]
    limits: [{name: minute, limit: 1, window: 1m}]
    challenge: {}
`

// No http.Client sends these values, but a proxy in the same process may.
func TestHostile_responseHeadersNeverEchoValues(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, hostile), httpguard.Options{XHeaders: true}, nil)
	known := []string{
		"Cache-Control", "Content-Type", "Ratelimit", "Ratelimit-Policy", "Retry-After", "X-Content-Type-Options",
		"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset",
	}
	mib := strings.Repeat("x", 1<<20)
	for _, value := range []string{"a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\x00evil", "\xff\xfeevil", "evil\u2028", `"evil"`, "{evil}:", mib, "fp:\r\nevil:\x00", "fp:evil:" + mib, "global/chat/evil"} {
		for _, header := range []string{"X-Fingerprint", "X-Api-Key", "X-Challenge", "Idempotency-Key", "X-Forwarded-For", "Host", "path"} {
			for range 2 { // admitted, and refused
				r := httptest.NewRequest(http.MethodGet, "/", nil)
				switch header {
				case "path":
					r.URL.Path = "/" + value
				case "Host":
					r.Host = value
				default:
					r.Header[header] = []string{value, value}[:1]
				}
				w := httptest.NewRecorder()
				s.Config.Handler.ServeHTTP(w, r)
				checkHeaders(t, w.Header())
				if w.Code >= 500 {
					t.Errorf("%s of %.20q: %d %s", header, value, w.Code, w.Body)
				}
				if strings.Contains(w.Body.String(), "evil") || w.Body.Len() > 2000 {
					t.Errorf("%s of %.20q is in the body %.200s", header, value, w.Body)
				}
				for name, lines := range w.Header() {
					if !slices.Contains(known, name) || strings.Contains(strings.Join(lines, ""), "evil") || strings.ContainsAny(strings.Join(lines, ""), "\r\n\x00") {
						t.Errorf("%s of %.20q: %s: %q", header, value, name, lines)
					}
				}
			}
		}
	}
}

const oneEuro = `
budgets: [{name: day, budget: "1.00", window: 24h}]
endpoints: [{name: chat, match: ["/"], unbounded: true, cost: {estimate: "0.25"}}]`

// spent returns the cost counted for a subject.
func spent(t *testing.T, s *service, c fcall.Caller, subject fcall.Subject) fcall.Micros {
	t.Helper()
	costs, err := cost.New(c, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	peek, err := costs.Peek(t.Context(), cost.PeekParams{Subject: subject, Budgets: cost.PackBudget(cost.Budget{Budget: 1_000_000, Window: 24 * time.Hour, Name: "day"})})
	if err != nil {
		t.Fatal(err)
	}
	return peek.Budgets[0].Spent
}

// What a response begins is charged, in whatever way that is, also if its client has the answer and leaves before the handler ends.
func TestHandlers_chargeForAResponse(t *testing.T) {
	leaves := func(write func(w http.ResponseWriter)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			write(w)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}
	for name, handler := range map[string]http.HandlerFunc{
		"writes":          leaves(func(w http.ResponseWriter) { _, _ = w.Write([]byte("hello\n")) }),
		"writes a string": leaves(func(w http.ResponseWriter) { _, _ = io.WriteString(w, "hello\n") }),
		"copies":          leaves(func(w http.ResponseWriter) { _, _ = io.Copy(w, strings.NewReader("hello\n")) }),
		"flushes and panics": func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"hijacks": func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
			_ = c.Close()
		},
	} {
		for _, secure := range []bool{false, true} {
			if secure && name == "hijacks" {
				continue // HTTP/2 cannot
			}
			t.Run(fmt.Sprintf("%s, HTTP/2 %v", name, secure), func(t *testing.T) {
				rdb, _ := inProcess(t)
				s := serve(t, rdb, parse(t, oneEuro), httpguard.Options{}, handler)
				ended := make(chan struct{}, 1)
				outer := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					defer func() { ended <- struct{}{} }()
					s.Config.Handler.ServeHTTP(w, r)
				}))
				outer.Config.ErrorLog = quiet
				if outer.EnableHTTP2 = secure; secure {
					outer.StartTLS()
				} else {
					outer.Start()
				}
				defer outer.Close()
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				r, _ := http.NewRequestWithContext(ctx, http.MethodGet, outer.URL, nil)
				r.Header.Set("X-API-Key", "ada")
				if response, err := outer.Client().Do(r); err == nil {
					_, _ = bufio.NewReader(response.Body).ReadString('\n') // the answer, or its end
					_ = response.Body.Close()
				}
				leave()
				<-ended
				if err := s.guard.Close(); err != nil {
					t.Error(err)
				}
				if got := spent(t, s, rdb, "key=ada"); got != 250_000 {
					t.Errorf("%v is spent", got)
				}
			})
		}
	}
}

// A client that disconnects before the decision is not charged.
func TestHandlers_disconnectedClientIsNotServed(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, oneEuro), httpguard.Options{}, func(http.ResponseWriter, *http.Request) { t.Error("served") })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	r.Header.Set("X-API-Key", "ada")
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("recovered %v", p)
			}
		}()
		s.Config.Handler.ServeHTTP(httptest.NewRecorder(), r)
	}()
	if got := spent(t, s, rdb, "key=ada"); got != 0 {
		t.Errorf("%v is spent", got)
	}
}

// countingKeys counts the values that it verifies.
type countingKeys struct{ verified *int }

func (k countingKeys) Verify(context.Context, string) (string, error) {
	*k.verified++
	return "", errors.New("unknown")
}

// A client whose address is refused has no token or key verified.
func TestHostile_aRefusedAddressCostsNoVerification(t *testing.T) {
	const ask = `
endpoints: [{name: chat, match: ["/"], limits: [{name: address, by: ip, limit: 2, window: 1h}%s]}]`
	for name, c := range map[string]struct {
		yaml           string
		statuses       [5]int
		verified, seen int
	}{
		"denied":                {fmt.Sprintf(ask, "") + "\noverrides: {deny: [ip=192.0.2.0/24]}", [5]int{403, 403, 403, 403, 403}, 0, 5},
		"by a limit by ip":      {fmt.Sprintf(ask, ""), [5]int{200, 200, 429, 429, 429}, 3, 5},
		"by a combination":      {fmt.Sprintf(ask, ", {name: key, by: client, limit: 1, window: 1h}"), [5]int{200, 429, 429, 429, 429}, 5, 5},
		"unless keys pass":      {fmt.Sprintf(ask, "") + "\noverrides: {allow: [key=vip]}", [5]int{200, 200, 429, 429, 429}, 5, 5},
		"unless keys have more": {fmt.Sprintf(ask, "") + "\noverrides: {multiply: {key=vip: 2}}", [5]int{200, 200, 429, 429, 429}, 5, 5},
		"unless repeats pass":   {strings.Replace(fmt.Sprintf(ask, ""), "name: chat", "name: chat, idempotency: {header: Idempotency-Key}", 1), [5]int{200, 200, 429, 429, 429}, 5, 5},
		"blocked": {`
blocks: [{name: many, attempts: all, by: ip, tiers: [{threshold: 2, window: 1h, block: 1h}]}]
endpoints: [{name: chat, match: ["/"], block: many}]`, [5]int{200, 429, 429, 429, 429}, 3, 5},
	} {
		rdb, _ := inProcess(t)
		verified, seen := 0, 0
		code := policy.Code{Verifiers: map[string]identity.Verifier{"key": countingKeys{&verified}}}
		counted := func(context.Context, guard.Event) { seen++ }
		s := serveWith(t, rdb, parse(t, c.yaml), guard.Options{Observers: []guard.Observer{counted}}, httpguard.Options{Code: code}, nil)
		var statuses [5]int
		for i := range statuses {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("X-API-Key", fmt.Sprint("made-up-", i))
			w := httptest.NewRecorder()
			s.Config.Handler.ServeHTTP(w, r)
			if statuses[i] = w.Code; w.Code != http.StatusOK && w.Code != 403 && w.Header().Get("Retry-After") == "" {
				t.Errorf("%s: no Retry-After: %v", name, w.Header())
			}
		}
		if statuses != c.statuses || verified != c.verified || seen != c.seen {
			t.Errorf("%s: %v, %d verified, %d decisions", name, statuses, verified, seen)
		}
	}
}
