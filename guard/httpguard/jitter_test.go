package httpguard_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
)

// Six hundred clients are refused in a minute, a tenth of a second apart, and come back when they are told to. The most of them that come
// back in one second is what the service must bear after the window's end.
func TestRetryJitter_spreadsClientsAfterAWindow(t *testing.T) {
	peak := func(jitter string) (most int) {
		rdb, clock := inProcess(t)
		s := serve(t, rdb, parse(t, jitter+`
endpoints: [{name: chat, match: ["/"], limits: [{name: minute, by: ip, kind: fixed_window, limit: 1, window: 1m}]}]`), httpguard.Options{}, nil)
		h, back := s.middleware.Handler(http.NotFoundHandler()), map[int]int{}
		for tenth := range 600 {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			checkHeaders(t, w.Header()) // Retry-After is never earlier than t
			if wait, err := strconv.Atoi(w.Header().Get("Retry-After")); err == nil {
				second := (tenth + 10*wait) / 10
				back[second]++
				most = max(most, back[second])
			}
			clock.Advance(100 * time.Millisecond)
		}
		return most
	}
	if without, with := peak(""), peak("retry_jitter: 20s"); without < 590 || with > 120 {
		t.Errorf("in the busiest second come back %d clients without jitter and %d with 20s", without, with)
	}
}

// The wait that a client is told is never shorter than the exact one, and at most twice as long, also if the refusal is cached.
func TestRetryJitter_neverShortensAWait(t *testing.T) {
	for name, c := range map[string]struct{ window, jitter, most time.Duration }{
		"longer than the jitter":  {time.Hour, time.Minute, time.Minute},
		"shorter than the jitter": {time.Minute, time.Hour, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			rdb, _ := inProcess(t)
			told, cached := map[time.Duration]bool{}, 0
			s := serveWith(t, rdb, parse(t, "retry_jitter: "+c.jitter.String()+`
endpoints: [{name: chat, match: ["/"], limits: [{name: limit, by: ip, limit: 1, window: `+c.window.String()+`}]}]`), guard.Options{}, httpguard.Options{
				Refused: func(_ http.ResponseWriter, _ *http.Request, p *httpguard.Problem) {
					if p.Decision.Cached {
						cached++
					}
					told[p.RetryAfter] = true
					if extra := p.RetryAfter - p.Decision.RetryAfter; extra < 0 || extra > c.most {
						t.Errorf("told %s, the exact wait is %s", p.RetryAfter, p.Decision.RetryAfter)
					}
				},
			}, nil)
			for range 50 {
				s.ask(t, "GET /")
			}
			if cached < 40 || len(told) < 40 {
				t.Errorf("%d answers were cached; %d different waits", cached, len(told))
			}
		})
	}
}
