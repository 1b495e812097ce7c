package loader_test

import (
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/counting"
	"github.com/rlfunc/rlfunc/loader"
)

// A node that does not answer is asked to find it, twice, and no check: each would take its whole time.
func TestStatus_unreachableNodeIsAskedOnce(t *testing.T) {
	for _, tt := range []struct {
		name    string
		replica bool
	}{{"the server", false}, {"a replica", true}} {
		t.Run(tt.name, func(t *testing.T) {
			var connections atomic.Int64
			silent := counting.Listen(t, func(net.Conn) { connections.Add(1) })
			addr := silent
			if tt.replica {
				addr = primaryOf(t, silent)
			}
			target := open(t, "redis://"+addr+"?read_timeout=20ms&max_retries=-1")
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
			if !slices.ContainsFunc(d.Findings, func(f loader.Warning) bool { return f.Node == silent && strings.Contains(f.Text, "no answer") }) {
				t.Errorf("findings: %v", d.Findings)
			}
		})
	}
}

// primaryOf answers as a primary with a replica, and refuses most commands.
func primaryOf(t *testing.T, replica string) (addr string) {
	_, port, _ := strings.Cut(replica, ":")
	info := bulk("redis_version:7.2.0\r\nrole:master\r\nslave0:ip=127.0.0.1,port=" + port + ",state=online,offset=1,lag=0\r\n")
	return newFakeServer(t, func(command string, _ []string) string {
		switch command {
		case "INFO":
			return info
		case "FUNCTION LIST":
			return "*0\r\n"
		}
		return "-ERR unknown command\r\n"
	}).addr
}
