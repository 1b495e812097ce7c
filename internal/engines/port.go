package engines

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
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
