package engines

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

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
