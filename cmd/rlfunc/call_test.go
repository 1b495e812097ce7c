package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
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
		if code != exitError || !strings.HasPrefix(errOut.String(), want) {
			t.Errorf("%s: exit code %d, standard error:\n%swant:\n%s", url, code, &errOut, want)
		}
	}
}

// A server that refuses FUNCTION is named as such by each command about libraries, to which a call refers.
func TestCall_serverWithoutLoads(t *testing.T) {
	url := "redis://" + engines.OnPath(t).Start(t, "--rename-command", "FUNCTION", "").Addr
	code, said := rlfunc("call", "ratelimit.fixed_window", "--redis", url, "subject=u1", "limit=2", "window=1m")
	if want := "is not loaded on this server, or in a version without this function; run `rlfunc deploy`"; code != exitError || !strings.Contains(said, want) {
		t.Errorf("call: exit %d, %s, want %q", code, said, want)
	}
	for _, command := range []string{"plan", "deploy", "status"} {
		code, said := rlfunc(command, "--redis", url)
		const want = "use Redis 7.0 or later or Valkey, where FUNCTION is not disabled"
		if code == exitOK || !strings.Contains(said, want) {
			t.Errorf("%s: exit %d, %s, want %q", command, code, said, want)
		}
	}
}

// docs/reference/wire.md shows what a call sends.
func TestWirePage_isWhatIsSent(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)\n```text\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d blocks, want 2", len(blocks))
	}
	server := embedded.New(embedded.Options{})
	defer server.Close()
	must(t, server.Client().FunctionLoad(t.Context(), ratelimit.Library.Code).Err())
	for _, block := range blocks {
		call, reply, _ := strings.Cut(strings.TrimSpace(block[1]), "\n")
		var words []any
		for word := range strings.FieldsSeq(call) {
			words = append(words, word)
		}
		got, err := server.Client().Do(t.Context(), words...).Slice()
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for i, n := range got {
			lines = append(lines, fmt.Sprintf("%d) (integer) %v", i+1, n))
		}
		if diff := cmp.Diff(reply, strings.Join(lines, "\n")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", call, diff)
		}
	}
}

// docs/reference/wire.md has a client of 28 lines, which calls what the page's first call does.
func TestWirePage_itsClientWorks(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)\n```perl\n(.*?)```").FindStringSubmatch(string(text))
	printed := regexp.MustCompile(`(?s)\n\$ perl wire\.pl\n(.*?)` + "```").FindStringSubmatch(string(text))
	if program == nil || printed == nil || strings.Count(program[1], "\n") != 28 {
		t.Fatal("the page has no client of 28 lines, or not what it prints")
	}
	server := embedded.New(embedded.Options{})
	defer server.Close()
	must(t, server.Client().FunctionLoad(t.Context(), ratelimit.Library.Code).Err())
	at, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	perl := exec.CommandContext(t.Context(), onpath.Program(t, "perl"), "-e", program[1])
	perl.Env = append(os.Environ(), "REDIS="+at.String())
	if out, err := perl.CombinedOutput(); err != nil || string(out) != printed[1] {
		t.Errorf("%v, it printed %q, want %q", err, out, printed[1])
	}
}
