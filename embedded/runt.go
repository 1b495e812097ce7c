package embedded

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A TB is what RunT needs of a *testing.T, so that this package does not import testing.
type TB interface {
	Helper()
	Cleanup(f func())
	Fatalf(format string, args ...any)
}

// A TestServer is a Server for the length of one test. Its time stands still except for Advance.
type TestServer struct {
	*Server
	clock *ManualClock
	t     TB

	once sync.Once
	addr string
}

// RunT starts a server, which ends with the test t. Its time begins at the present.
func RunT(t TB) *TestServer {
	t.Helper()
	clock := NewManualClock(time.Now())
	s := &TestServer{Server: New(Options{Clock: clock}), clock: clock, t: t}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Fatalf("close the embedded server: %v", err)
		}
	})
	return s
}

// Client returns a go-redis client over connections in memory, which ends with the test.
func (s *TestServer) Client() *redis.Client {
	c := s.Server.Client()
	s.t.Cleanup(func() { _ = c.Close() }) // the test may have closed it
	return c
}

// Addr returns the host and port that the server listens on: a free port of the loopback interface, opened by the first call.
func (s *TestServer) Addr() string {
	s.t.Helper()
	s.once.Do(func() {
		addr, err := s.Listen("127.0.0.1:0")
		if err != nil {
			s.t.Fatalf("%v", err)
			return
		}
		s.addr = addr.String()
	})
	return s.addr
}

// Advance moves the server's time by d: keys expire.
func (s *TestServer) Advance(d time.Duration) { s.clock.Advance(d) }

// Load loads a library of functions from its source, in place of one of the same name. An error fails t.
func (s *TestServer) Load(t TB, library string) {
	t.Helper()
	ctx := context.Background()
	if err := s.Process(ctx, redis.NewStringCmd(ctx, "function", "load", "replace", library)); err != nil {
		t.Fatalf("load library: %v", err)
	}
}
