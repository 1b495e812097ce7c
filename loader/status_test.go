package loader_test

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/loader"
)

// serving starts a server that gives each connection to serve.
func serving(t *testing.T, serve func(net.Conn)) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c)
		}
	}()
	return l.Addr()
}

// A node that does not answer is asked to find it, twice, and no check: each would take its whole time.
func TestStatus_unreachableNodeIsAskedOnce(t *testing.T) {
	for _, tt := range []struct {
		name    string
		replica bool
	}{{"the server", false}, {"a replica", true}} {
		t.Run(tt.name, func(t *testing.T) {
			var connections atomic.Int64
			silent := serving(t, func(net.Conn) { connections.Add(1) })
			addr := silent
			if tt.replica {
				addr = serving(t, func(c net.Conn) { go primaryOf(c, silent.(*net.TCPAddr).Port) })
			}
			target := open(t, "redis://"+addr.String()+"?read_timeout=20ms&max_retries=-1")
			if _, err := target.Plan(t.Context(), ratelimit.Library); err != nil {
				t.Fatal(err)
			}
			plan := connections.Swap(0)
			d, err := target.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if plan == 0 || connections.Load() > 2*plan {
				t.Errorf("%d connections, and a plan makes %d; findings: %v", connections.Load(), plan, d.Findings)
			}
			if !slices.ContainsFunc(d.Findings, func(f loader.Warning) bool { return f.Node == silent.String() && strings.Contains(f.Text, "no answer") }) {
				t.Errorf("findings: %v", d.Findings)
			}
		})
	}
}

// primaryOf answers as a primary with a replica on a port of this machine, and refuses most commands.
func primaryOf(c net.Conn, port int) {
	defer c.Close()
	info := fmt.Sprintf("redis_version:7.2.0\r\nrole:master\r\nslave0:ip=127.0.0.1,port=%d,state=online,offset=1,lag=0\r\n", port)
	r := bufio.NewReader(c)
	for {
		var words int
		if _, err := fmt.Fscanf(r, "*%d\r\n", &words); err != nil {
			return
		}
		var command []string
		for range words {
			var size int
			if _, err := fmt.Fscanf(r, "$%d\r\n", &size); err != nil {
				return
			}
			word := make([]byte, size+2)
			for i := range word {
				word[i], _ = r.ReadByte()
			}
			command = append(command, strings.ToUpper(string(word[:size])))
		}
		answer := "-ERR unknown command\r\n"
		switch strings.Join(command[:min(2, len(command))], " ") {
		case "INFO":
			answer = fmt.Sprintf("$%d\r\n%s\r\n", len(info), info)
		case "FUNCTION LIST":
			answer = "*0\r\n"
		}
		if _, err := c.Write([]byte(answer)); err != nil {
			return
		}
	}
}
