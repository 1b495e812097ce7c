package embedded_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded"
)

// attacker is a connection whose client sends what it likes.
type attacker struct {
	*net.TCPConn
	t *testing.T
}

func attack(t *testing.T, s *embedded.TestServer) attacker {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	return attacker{conn.(*net.TCPConn), t}
}

func (a attacker) send(text string) {
	a.t.Helper()
	if _, err := io.WriteString(a, text); err != nil {
		a.t.Fatalf("send: %v", err)
	}
}

// ask sends a command that has a reply of one line.
func (a attacker) ask(command string) string {
	a.t.Helper()
	a.send(command + "\r\n")
	line := []byte{}
	for !bytes.HasSuffix(line, []byte("\r\n")) {
		var b [1]byte
		if _, err := io.ReadFull(a, b[:]); err != nil {
			a.t.Fatalf("%s: %v after %q", command, err, line)
		}
		line = append(line, b[0])
	}
	return string(line[:len(line)-2])
}

// rest reads until the server ends the connection.
func (a attacker) rest() string {
	a.t.Helper()
	text, err := io.ReadAll(a)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		a.t.Fatal("the server keeps the connection")
	}
	return string(text)
}

func infoLine(t *testing.T, s *embedded.TestServer, name string) string {
	t.Helper()
	text, err := call(s.Server, "info", "everything").Text()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(text, name+":")
	if !found {
		t.Fatalf("INFO has no %s", name)
	}
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

func configure(t *testing.T, s *embedded.TestServer, name, value string) {
	t.Helper()
	must(t, call(s.Server, "config", "set", name, value).Err())
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

func TestListen_closesAConnectionThatIsNotRead(t *testing.T) {
	s := embedded.RunT(t)
	configure(t, s, "client-output-buffer-limit", "normal 4mb 0 0")
	const size, asked = 1 << 20, 200
	must(t, call(s.Server, "set", "k", strings.Repeat("x", size)).Err())
	a := attack(t, s)
	a.send(strings.Repeat("GET k\r\n", asked))
	if got := len(a.rest()); got >= asked*size {
		t.Errorf("the server kept all %d bytes", got)
	}
	if got := infoLine(t, s, "client_output_buffer_limit_disconnections"); got != "1" {
		t.Errorf("%s disconnections, want 1", got)
	}
	if got := attack(t, s).ask("PING"); got != "+PONG" {
		t.Errorf("another client got %q", got)
	}
}

func TestListen_keepsAPipelineBelowTheLimitForALateReader(t *testing.T) {
	s := embedded.RunT(t)
	const size, asked = 1 << 20, 60
	must(t, call(s.Server, "set", "k", strings.Repeat("x", size)).Err())
	a := attack(t, s)
	a.send(strings.Repeat("GET k\r\n", asked) + "QUIT\r\n")
	if got, want := len(a.rest()), asked*len(bulk(strings.Repeat("x", size)))+len("+OK\r\n"); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

func TestListen_refusesConnectionsAboveMaxclients(t *testing.T) {
	s := embedded.RunT(t)
	configure(t, s, "maxclients", "2")
	first, second := attack(t, s), attack(t, s)
	for _, a := range []attacker{first, second} {
		if got := a.ask("PING"); got != "+PONG" {
			t.Fatalf("got %q", got)
		}
	}
	if got, want := attack(t, s).rest(), "-ERR max number of clients reached\r\n"; got != want {
		t.Errorf("the third got %q, want %q", got, want)
	}
	if got := infoLine(t, s, "rejected_connections"); got != "1" {
		t.Errorf("%s rejected connections, want 1", got)
	}
	if err := s.Client().Ping(t.Context()).Err(); err != nil {
		t.Errorf("a client in the process: %v", err)
	}
	first.send("QUIT\r\n")
	first.rest()
	second.send("QUIT\r\n")
	second.rest()
	if got := attack(t, s).ask("PING"); got != "+PONG" {
		t.Errorf("after two have left: %q", got)
	}
}

func TestListen_answersWhatBreaksTheProtocol(t *testing.T) {
	s := embedded.RunT(t)
	configure(t, s, "client-query-buffer-limit", "1mb")
	configure(t, s, "proto-max-bulk-len", "2mb")
	half := bulk(strings.Repeat("x", 600<<10))
	tests := []struct{ name, sent, want string }{
		{"an argument too long", "*1\r\n$2097153\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
		{"a negative length", "*1\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
		{"too many arguments", "*2147483648\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
		{"a count with a sign", "*+1\r\n$4\r\nPING\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
		{"a length with a zero before it", "*1\r\n$04\r\nPING\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
		{"an array in an array", "*1\r\n*1\r\n*1\r\n", "-ERR Protocol error: expected '$', got '*'\r\n"},
		{"an endless line", strings.Repeat("x", 64<<10+1), "-ERR Protocol error: too big inline request\r\n"},
		{"an endless count", "*" + strings.Repeat("1", 64<<10+1), "-ERR Protocol error: too big mbulk count string\r\n"},
		{"an endless length", "*1\r\n$" + strings.Repeat("1", 64<<10+1), "-ERR Protocol error: too big bulk count string\r\n"},
		{"a command above the query limit", "*3\r\n" + bulk("MSET") + half + "$614400\r\n", ""},
		{"a queue above the query limit", "MULTI\r\n*2\r\n" + bulk("ECHO") + half + "*2\r\n" + bulk("ECHO") + "$614400\r\n", "+OK\r\n+QUEUED\r\n"},
		{"a queue of many short commands", "MULTI\r\n" + strings.Repeat("PING\r\n", 12_485), "+OK\r\n" + strings.Repeat("+QUEUED\r\n", 12_484)},
		{"a page in a browser", "POST / HTTP/1.1\r\nHost: x\r\n\r\nFLUSHALL\r\n", ""},
		{"a header after another request", "GET / HTTP/1.1\r\nHost: x\r\nFLUSHALL\r\n", "-ERR wrong number of arguments for 'get' command\r\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			must(t, call(s.Server, "set", "k", "v").Err())
			a := attack(t, s)
			a.send(test.sent)
			must(t, a.CloseWrite())
			if diff := cmp.Diff(test.want, a.rest()); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if got := call(s.Server, "get", "k").Val(); got != "v" {
				t.Errorf("k holds %v afterwards", got)
			}
		})
	}
}

func TestListen_refusesALineThatIsTooLongWithoutAwaitingMore(t *testing.T) {
	s := embedded.RunT(t)
	for sent, want := range map[string]string{
		strings.Repeat("x", 70_000):             "-ERR Protocol error: too big inline request\r\n",
		"*" + strings.Repeat("1", 70_000):       "-ERR Protocol error: too big mbulk count string\r\n",
		"*1\r\n$" + strings.Repeat("1", 70_000): "-ERR Protocol error: too big bulk count string\r\n",
	} {
		a := attack(t, s)
		a.send(sent)
		if got := a.rest(); got != want {
			t.Errorf("%.5q...: got %q, want %q and the end", sent, got, want)
		}
	}
}

func TestListen_watchesAKeyOnce(t *testing.T) {
	s := embedded.RunT(t)
	a := attack(t, s)
	a.send(strings.Repeat("WATCH k k k\r\n", 1000) + "CLIENT INFO\r\nQUIT\r\n")
	if got := a.rest(); !strings.Contains(got, " watch=1 ") {
		t.Errorf("%q has no watch=1", got[len(got)-200:])
	}
}

func TestListen_answersACommandBeforeTheNextIsComplete(t *testing.T) {
	a := attack(t, embedded.RunT(t))
	for _, step := range []struct{ sent, want string }{
		{"PING\r\nPI", "+PONG\r\n"},
		{"NG\r\n*1\r\n$4\r\nPI", "+PONG\r\n"},
		{"NG\r\n", "+PONG\r\n"},
	} {
		a.send(step.sent)
		got := make([]byte, len(step.want))
		if _, err := io.ReadFull(a, got); err != nil || string(got) != step.want {
			t.Errorf("%q: got %q, %v, want %q", step.sent, got, err, step.want)
		}
	}
}
