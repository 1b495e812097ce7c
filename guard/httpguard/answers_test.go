package httpguard_test

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
)

func guardOptions(deny int) guard.Options { return guard.Options{CacheSize: deny} }

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
	want.Message = "The request is ambiguous: two different values verify."
	if diff := cmp.Diff(want, s.get(t, "X-API-Key", "ada", "X-API-Key", "bob")); diff != "" {
		t.Errorf("two keys (-want +got):\n%s", diff)
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
