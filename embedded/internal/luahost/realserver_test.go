package luahost

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// realServer is a connection to a redis-server that the test started.
type realServer struct {
	t *testing.T
	w io.Writer
	r *bufio.Reader
}

// startRedis starts the redis-server on PATH, if it is of the wanted version.
func startRedis(t *testing.T, version string) *realServer {
	t.Helper()
	onpath.Full(t)
	path := onpath.Program(t, "redis-server")
	out, err := exec.Command(path, "--version").Output()
	if err != nil || !strings.Contains(string(out), "v="+version) {
		onpath.Lacking(t, "want redis-server version %s, have %s (%v)", version, bytes.TrimSpace(out), err)
	}
	socket := filepath.Join(t.TempDir(), "redis.sock")
	cmd := exec.Command(path, "--unixsocket", socket, "--port", "0", "--save", "", "--appendonly", "no")
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	deadline := time.Now().Add(10 * time.Second)
	for {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			t.Cleanup(func() { _ = conn.Close() })
			return &realServer{t: t, w: conn, r: bufio.NewReader(conn)}
		}
		if time.Now().After(deadline) {
			t.Fatalf("connect to %s: %v", socket, err)
		}
		time.Sleep(10 * time.Millisecond) // the process is starting
	}
}

func (s *realServer) do(args ...string) reply.Value {
	s.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(s.w, b.String()); err != nil {
		s.t.Fatal(err)
	}
	v, err := s.read()
	if err != nil {
		s.t.Fatalf("%.300q: %v", args, err)
	}
	return v
}

func (s *realServer) read() (reply.Value, error) {
	line, err := s.r.ReadString('\n')
	if err != nil {
		return reply.Value{}, err
	}
	line = strings.TrimRight(line, "\r\n")
	rest := line[1:]
	n, _ := strconv.ParseInt(rest, 10, 64)
	switch line[0] {
	case '+':
		return reply.Simple(rest), nil
	case '-':
		return reply.Err(rest), nil
	case ':':
		return reply.Integer(n), nil
	case '$':
		if n < 0 {
			return reply.Null, nil
		}
		b := make([]byte, n+2)
		_, err := io.ReadFull(s.r, b)
		return reply.Text(string(b[:n])), err
	case '*':
		v := reply.List()
		for range n {
			e, err := s.read()
			if err != nil {
				return v, err
			}
			v.Array = append(v.Array, e)
		}
		return v, nil
	}
	return reply.Value{}, fmt.Errorf("unknown reply %q", line)
}
