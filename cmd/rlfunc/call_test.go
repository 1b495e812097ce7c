package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// listening is the address of an embedded server.
func listening(t *testing.T) (addr string) {
	t.Helper()
	s := embedded.New(embedded.Options{})
	t.Cleanup(func() { s.Close() })
	at, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return at.String()
}

// A URL that does not fit the server ends a call before it is sent, and the error says so.
func TestCall_wrongURLRunsNothing(t *testing.T) {
	addr := listening(t)
	for url, want := range map[string]string{
		"redis+cluster://ADDR":       "find the nodes: ADDR: it does not list a cluster's nodes (ERR This instance has cluster support disabled); if the server is not a cluster node, use redis://",
		"redis+sentinel://main@ADDR": "find the nodes: ADDR: it is not a sentinel: ERR unknown command",
		"redis://ADDR/99":            "ERR DB index is out of range",
		"rediss://ADDR":              "check on ADDR: no connection: the server does not use TLS on this port; use redis:// or another port",
	} {
		var out, errOut bytes.Buffer
		args := []string{"call", "ratelimit.gcra", "subject=ann", "limit=1", "period=1s", "--redis", strings.Replace(url, "ADDR", addr, 1)}
		code := run(args, strings.NewReader(""), &out, &errOut)
		want = "rlfunc: ratelimit.gcra: nothing ran: " + strings.ReplaceAll(want, "ADDR", addr)
		if code != exitcode.Error || !strings.HasPrefix(errOut.String(), want) {
			t.Errorf("%s: exit code %d, standard error:\n%swant:\n%s", url, code, &errOut, want)
		}
	}
}

// On a server that has FCALL and refuses FUNCTION, a call runs the same Lua as a script, and the commands about libraries say so.
func TestCall_serverWithoutLoads(t *testing.T) {
	url := "redis://" + engines.OnPath(t).Start(t, "--rename-command", "FUNCTION", "").Addr
	for want := range 2 {
		code, said := rlfunc("call", "ratelimit.fixed_window", "--redis", url, "subject=u1", "limit=2", "window=1m")
		if remaining := fmt.Sprintf("remaining    %d", 1-want); code != exitcode.OK || !strings.Contains(said, remaining) {
			t.Errorf("call %d: exit %d, %s, want %q", want+1, code, said, remaining)
		}
	}
	for _, command := range []string{"plan", "deploy", "verify", "doctor", "status"} {
		code, said := rlfunc(command, "--redis", url)
		const want = "run the same Lua as scripts here"
		if code == exitcode.OK || !strings.Contains(said, want) {
			t.Errorf("%s: exit %d, %s, want %q", command, code, said, want)
		}
	}
}
