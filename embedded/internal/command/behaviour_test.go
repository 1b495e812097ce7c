package command_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded/internal/command"
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/wire"
)

// The tables in testdata hold commands, and under each the reply of a real server. They were recorded from Redis 7.0.15 by
//
//	go test ./embedded/internal/command -run TestBehaviour -record /path/to/redis.sock
//
// A line "> command" asks; ">~ command" asks for an array whose order means nothing.
var record = flag.String("record", "", "unix socket of a Redis that is flushed and asked for the replies")

func TestBehaviour(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("tables: %v, %v", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if *record != "" {
				if err := os.WriteFile(file, []byte(play(t, string(text), realServer(t))), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), ownWords.ReplaceAllString(play(t, string(text), inProcess()), "")); diff != "" {
				t.Errorf("replies (-want +got):\n%s", diff)
			}
		})
	}
}

// ownWords are what an error here says more than Redis's.
var ownWords = regexp.MustCompile(` \(the embedded engine has no '[^']*', see docs/embedded\.md\)`)

// play sends the commands of a table and writes the replies under them.
func play(t *testing.T, table string, do func(args []string) reply.Value) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(table) {
		unordered := strings.HasPrefix(line, ">~ ")
		switch {
		case unordered, strings.HasPrefix(line, "> "):
			args, err := wire.NewReader(strings.NewReader(strings.TrimLeft(line, ">~ ")), &command.NewState(time.Now, nil).Limits, func() {}).Command(0)
			if err != nil {
				t.Fatalf("read %q: %v", line, err)
			}
			v := do(args)
			if unordered {
				slices.SortFunc(v.Array, func(a, b reply.Value) int { return strings.Compare(show(a), show(b)) })
			}
			b.WriteString(line + show(v) + "\n")
		case line == "\n" || line[0] == '#':
			b.WriteString(line)
		}
	}
	return b.String()
}

func show(v reply.Value) string {
	switch v = v.RESP2(); v.Kind {
	case reply.Int:
		return strconv.FormatInt(v.Int, 10)
	case reply.Bulk:
		return strconv.Quote(v.Str)
	case reply.Status:
		return "+" + v.Str
	case reply.Error:
		return "-" + v.Str
	case reply.NilArray:
		return "(nil array)"
	case reply.Array:
		texts := make([]string, len(v.Array))
		for i, element := range v.Array {
			texts[i] = show(element)
		}
		return "[" + strings.Join(texts, " ") + "]"
	}
	return "(nil)"
}

func inProcess() func([]string) reply.Value {
	now := time.Unix(1_700_000_000, 0)
	state := command.NewState(func() time.Time { return now }, nil)
	session := state.Connect("test")
	return func(args []string) reply.Value {
		return state.Do(session, args)
	}
}

func realServer(t *testing.T) func([]string) reply.Value {
	t.Helper()
	conn, err := net.Dial("unix", *record)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	r := bufio.NewReader(conn)
	do := func(args []string) reply.Value {
		var values []reply.Value
		for _, a := range args {
			values = append(values, reply.Text(a))
		}
		if _, err := conn.Write(wire.Append(nil, reply.List(values...), 2)); err != nil {
			t.Fatal(err)
		}
		v, err := readReply(r)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	do([]string{"FLUSHALL"})
	do([]string{"FUNCTION", "FLUSH"})
	return do
}

func readReply(r *bufio.Reader) (reply.Value, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return reply.Value{}, err
	}
	rest := strings.TrimSuffix(line[1:], "\r\n")
	switch line[0] {
	case '+':
		return reply.Simple(rest), nil
	case '-':
		return reply.Err(rest), nil
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	switch {
	case err != nil:
		return reply.Value{}, fmt.Errorf("read reply %q: %w", line, err)
	case line[0] == ':':
		return reply.Integer(n), nil
	case line[0] == '$' && n < 0:
		return reply.Null, nil
	case line[0] == '*' && n < 0:
		return reply.NullArray, nil
	case line[0] == '$':
		b := make([]byte, n+2)
		_, err := io.ReadFull(r, b)
		return reply.Text(string(b[:n])), err
	}
	values := make([]reply.Value, n)
	for i := range values {
		if values[i], err = readReply(r); err != nil {
			return reply.Value{}, err
		}
	}
	return reply.List(values...), nil
}
