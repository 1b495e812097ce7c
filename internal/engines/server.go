package engines

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/internal/servers"
)

// server is a running server and what to do with it.
type server struct {
	version string
	how     string // for the report: "container redis:7.0"
	url     string
	options redis.Options
	end     func()        // ends the server
	log     func() string // its last lines, for the message when it died; may be nil

	embedded *embedded.Server // nil but for the embedded engine
	clock    *embedded.ManualClock

	mu     sync.Mutex
	free   *sync.Cond // of mu: the holder has changed
	holder testing.TB
}

func (s *server) clientOptions() *redis.Options {
	o := s.options
	o.ReadTimeout = 20 * time.Second // on a busy machine an answer may be late, and a command that is sent again runs twice
	return &o
}

// hold waits until no other test has the server, and makes it t's until t ends. A test's subtests may take it over meanwhile.
func (s *server) hold(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == nil {
		s.free = sync.NewCond(&s.mu)
	}
	for s.holder != nil && s.holder != t && !strings.HasPrefix(t.Name(), s.holder.Name()+"/") {
		s.free.Wait()
	}
	before := s.holder
	if before == t {
		return
	}
	s.holder = t
	t.Cleanup(func() {
		s.mu.Lock()
		s.holder = before
		s.mu.Unlock()
		s.free.Broadcast()
	})
}

// wipe removes keys and functions. Functions go one by one: FUNCTION FLUSH crashes some servers after a function that
// passed redis.call something else than a string or a number.
func (s *server) wipe(ctx context.Context, c *redis.Client) error {
	if err := c.FlushAll(ctx).Err(); err != nil {
		return fmt.Errorf("remove the keys: %w", err)
	}
	names, err := libraries(ctx, c)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.FunctionDelete(ctx, name).Err(); err != nil {
			return fmt.Errorf("delete library %s: %w", name, err)
		}
	}
	return nil
}

// leaveEmpty wipes over a connection of its own: the test may have closed its client, or changed what it may do.
func (s *server) leaveEmpty() {
	o := impatient(s.options)
	c := redis.NewClient(&o)
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// A test may have ended its own server; a shared one that is gone fails the next Client.
	_ = s.wipe(ctx, c)
}

// impatient turns off what would hide for a while that a server has come up, or is gone.
func impatient(o redis.Options) redis.Options {
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.DialTimeout = time.Second
	return o
}

// libraries returns the names of the libraries on the server. The reply is read by hand because go-redis refuses
// fields that it does not know.
func libraries(ctx context.Context, c *redis.Client) ([]string, error) {
	list, err := c.Do(ctx, "FUNCTION", "LIST").Slice()
	if err != nil {
		return nil, fmt.Errorf("list the libraries: %w", err)
	}
	var names []string
	for _, item := range list {
		switch library := item.(type) {
		case map[any]any: // RESP3
			if name, ok := library["library_name"].(string); ok {
				names = append(names, name)
			}
		case []any: // RESP2: field, value, field, value
			for i := 0; i+1 < len(library); i += 2 {
				if name, ok := library[i+1].(string); ok && library[i] == "library_name" {
					names = append(names, name)
				}
			}
		}
	}
	if len(names) != len(list) {
		return nil, fmt.Errorf("list the libraries: %d of %d have no name", len(list)-len(names), len(list))
	}
	return names, nil
}

// lastWords is what a dead server said, as a suffix for an error message.
func (s *server) lastWords() string {
	if s.log == nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(s.log()), "\n")
	return "\nits last lines:\n" + strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// await pings until the server answers, and returns what it says it is. died, if not nil, is closed when waiting is useless.
func await(ctx context.Context, o redis.Options, died <-chan struct{}) (version string, err error) {
	o = impatient(o)
	c := redis.NewClient(&o)
	defer c.Close()
	for {
		info, err := c.Info(ctx, "server").Result()
		if err == nil {
			return servers.Identify(info).String(), nil
		}
		select {
		case <-died:
			return "", errors.New("the server ended at once")
		case <-ctx.Done():
			return "", fmt.Errorf("no answer on %s: %w", o.Addr, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Ports are taken below those that systems give to outgoing connections: the servers of a cluster make many.
const (
	lowestPort  = 12_000
	highestPort = 32_000
)

var ports struct {
	mu    sync.Mutex
	given map[int]bool
}

// freePort returns a loopback port without a listener, which this process has not used before.
func freePort() (int, error) {
	ports.mu.Lock()
	defer ports.mu.Unlock()
	if ports.given == nil {
		ports.given = map[int]bool{}
	}
	for range 1000 {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		if ports.given[port] {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		ports.given[port] = true
		return port, l.Close()
	}
	return 0, errors.New("find a free port: 1000 tries were in vain")
}

// FreeAddr returns a loopback address for a server that a test starts.
func FreeAddr(t testing.TB) string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// dataFile is a name that distinguishes a server from another one on its port.
func dataFile(port int) string { return fmt.Sprintf("rlfunc-%d-%d.rdb", os.Getpid(), port) }

// isOurs refuses another process's server that took the port after freePort found it.
func isOurs(ctx context.Context, o redis.Options, dataFile string) error {
	o = impatient(o)
	c := redis.NewClient(&o)
	defer c.Close()
	name, err := c.ConfigGet(ctx, "dbfilename").Result()
	if err == nil && name["dbfilename"] != dataFile {
		err = fmt.Errorf("another server has taken %s", o.Addr)
	}
	return err
}
