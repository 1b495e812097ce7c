package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
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

// docs/reference/wire.md shows what a call and an announcement send.
func TestWirePage_isWhatIsSent(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)\n```(?:console\n\\$ rlfunc ([^\n]*)|text)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks, want 3", len(blocks))
	}
	if _, out, errOut := runOutside(t, strings.Fields(blocks[0][1])...); out != blocks[0][2] {
		t.Errorf("the call's block (-want +got):\n%s%s", cmp.Diff(out, blocks[0][2]), errOut)
	}

	rdb := redis.NewClient(&redis.Options{Addr: listening(t)})
	defer rdb.Close()
	ctx, stop := context.WithCancel(t.Context())
	var sent sentCommands
	sent.stop = stop
	rdb.AddHook(&sent)
	o := loader.AnnounceOptions{Service: "checkout", Instance: "pod-a:7"}
	loader.Announce(ctx, rdb, &fcall.Library{ServerName: "ratelimit_v1", Version: "1.0.0"}, o)
	if len(sent.lines) != 6 {
		t.Fatalf("sent %q", sent.lines)
	}
	now := strings.Fields(sent.lines[1])[2]
	member, _ := strings.CutPrefix(sent.lines[5], "ZREM rlfunc:{deploy}:clients ")
	ms, err := strconv.ParseInt(now, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("NOW-86400000", strconv.FormatInt(ms-86400000, 10), "NOW", now, "MEMBER", member).Replace(blocks[2][2])
	if got := strings.Join(sent.lines[:5], "\n") + "\n"; !strings.EqualFold(got, want) {
		t.Errorf("an announcement sends\n%sand the page has\n%s", got, want)
	}
	shown := strings.NewReplacer(" python ", " go ", "1763706867123", now).Replace(blocks[1][2])
	if member+"\n" != shown {
		t.Errorf("the member is %q, and the page has %q", member, shown)
	}
}

// sentCommands notes each command but those with which a connection begins, and stops after EXPIRE.
type sentCommands struct {
	lines []string
	stop  func()
}

func (s *sentCommands) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *sentCommands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *sentCommands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "hello" && cmd.Name() != "client" {
			s.lines = append(s.lines, strings.TrimSpace(fmt.Sprintln(cmd.Args()...)))
		}
		err := next(ctx, cmd)
		if cmd.Name() == "expire" {
			s.stop()
		}
		return err
	}
}
