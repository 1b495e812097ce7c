package httpguard_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/guard/httpguard"
)

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
