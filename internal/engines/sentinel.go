package engines

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Sentinels watch a primary and its replicas, under the name "main".
type Sentinels struct {
	Servers   []*Member // the primary at the start first
	Sentinels []*Member
}

// StartSentinels starts a primary with replicas, and three sentinels that make one of those the primary when it fails for a second. They end
// with the test.
func (p Program) StartSentinels(t testing.TB, replicas int) *Sentinels {
	t.Helper()
	primary := p.Start(t)
	s := &Sentinels{Servers: []*Member{primary}}
	for range replicas {
		s.Servers = append(s.Servers, primary.StartReplica(t, "--repl-ping-replica-period", "1"))
	}
	host, port, _ := net.SplitHostPort(primary.Addr)
	for range 3 {
		// On a busy machine a server that lives may not answer for a second or two.
		s.Sentinels = append(s.Sentinels, p.startSentinel(t, strings.Join([]string{
			"sentinel monitor main " + host + " " + port + " 2",
			"sentinel down-after-milliseconds main 4000",
			"sentinel failover-timeout main 8000",
			"",
		}, "\n")))
	}
	for _, m := range s.Sentinels {
		m.AwaitInfo(t, fmt.Sprintf("master0:name=main,status=ok,address=%s,slaves=%d,sentinels=3", primary.Addr, replicas))
	}
	return s
}

func (p Program) startSentinel(t testing.TB, config string) *Member {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatalf("engines: %v", err)
	}
	file := filepath.Join(memoryFolder(t), "sentinel.conf") // it rewrites the file
	var settings strings.Builder
	flags := p.flags(port, []string{"--bind", "127.0.0.1"})
	for i := 0; i+1 < len(flags); i += 2 {
		settings.WriteString(strings.TrimPrefix(flags[i], "--") + " " + flags[i+1] + "\n")
	}
	if err := os.WriteFile(file, []byte(settings.String()+config), 0o600); err != nil {
		t.Fatalf("engines: %v", err)
	}
	m := &Member{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), program: p, args: []string{file, "--sentinel"}}
	m.options = redis.Options{Addr: m.Addr, TLSConfig: p.tls}
	if err := m.begin(t.Context()); err != nil {
		t.Fatalf("engines: start a sentinel of %s: %v", p.Name, err)
	}
	t.Cleanup(m.Kill)
	return m
}

// Addrs are the addresses of the sentinels.
func (s *Sentinels) Addrs() []string {
	var all []string
	for _, m := range s.Sentinels {
		all = append(all, m.Addr)
	}
	return all
}

// failover is how long one may take: a sentinel in tilt does nothing for 30 s.
const failover = 2 * time.Minute

// AwaitFailover waits until all sentinels name another primary than old, and it has the role; it returns that server.
func (s *Sentinels) AwaitFailover(t testing.TB, old *Member) *Member {
	t.Helper()
	var found *Member
	for _, m := range s.Sentinels {
		m.awaitFor(t, failover, func(ctx context.Context, c *redis.Client) error {
			addr, err := c.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main").StringSlice()
			if err != nil {
				return err
			}
			i := slices.IndexFunc(s.Servers, func(m *Member) bool { return m.Addr == strings.Join(addr, ":") })
			if i < 0 || s.Servers[i] == old {
				return fmt.Errorf("the primary is %v", addr)
			}
			found = s.Servers[i]
			return nil
		})
	}
	found.AwaitInfo(t, "role:master")
	return found
}
