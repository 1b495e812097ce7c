package httpguard_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
)

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
