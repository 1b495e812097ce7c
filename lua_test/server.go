package luatest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/contract"
	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
)

// Start is when the clock of each test begins. It is not a whole millisecond, like the time of a real call.
var Start = time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC)

// late is how much later the test's clock stores an expiry, as clock.lua says.
const late = 3_153_600_000_000 * time.Millisecond

// A Server is one server that holds the suite's libraries, for the length of a test.
type Server struct {
	Engine string        // the engine's name
	Caller fcall.Caller  // what the generated client calls
	Redis  *redis.Client // to prepare and to look at keys

	real    bool // not in the process
	libs    []*fcall.Library
	clocked []*fcall.Library      // those with the test's clock, on real servers
	manual  *embedded.ManualClock // the embedded engine's; nil on real servers
	late    time.Duration         // of every expiry on the server
	now     time.Time             // zero where the clock is the real one
	strict  *contract.Strict      // checks each step; nil on real servers
}

// setClock is the function by which the test moves a library's clock.
func setClock(lib *fcall.Library) string { return lib.ServerName + "_set_clock" }

// lasts reports whether the header of a key allows it to stay without an expiry. The name is `<namespace>:{<tag>}:<suffix>`, and
// `:<value>` behind that if the suffix ends in a text.
func (s *Server) lasts(name string) bool {
	_, suffix, ok := strings.Cut(name, "}:")
	word, _, _ := strings.Cut(suffix, ":")
	return ok && slices.ContainsFunc(s.libs, func(lib *fcall.Library) bool { return slices.Contains(lib.Forever, word) })
}

// inProcess is an engine of the test's own; without a clock its time is the real one. An observer may be nil.
func inProcess(t testing.TB, name string, clock *embedded.ManualClock, observer embedded.Observer) Engine {
	o := embedded.Options{Observer: observer}
	if clock != nil {
		o.Clock = clock
	}
	server := embedded.New(o)
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	connect := func(t testing.TB) *redis.Client {
		client := server.Client()
		t.Cleanup(func() { client.Close() })
		return client
	}
	return Engine{Name: name, Client: connect, Embedded: server, Clock: clock}
}

// load puts a library on the server until the test ends. A library that the server already has belongs to another owner: it is kept, and the
// test fails.
func (s *Server) load(t testing.TB, e Engine, lib *fcall.Library, code string) {
	t.Helper()
	s.libs = append(s.libs, lib)
	if e.Clock == nil && strings.Contains(code, setClock(lib)) {
		s.clocked = append(s.clocked, lib)
	}
	s.Caller = s.Redis
	if e.Embedded != nil {
		s.Caller = e.Embedded
	}
	name, err := s.Redis.FunctionLoad(t.Context(), code).Result()
	if err != nil {
		if strings.Contains(err.Error(), "already exists") {
			t.Fatalf("%s: the server holds %s already, perhaps by a deploy: tests load their own copy, with a clock that they move, so they need a server without it; unset RLFUNC_TEST_REDIS_URL to test on the embedded engine only", s.Engine, lib.ServerName)
		}
		t.Fatalf("%s: load %s: %v", s.Engine, lib.ServerName, err)
	}
	t.Cleanup(func() {
		// The test's context has ended.
		if err := s.Redis.FunctionDelete(context.Background(), name).Err(); err != nil {
			t.Errorf("%s: delete %s: %v", s.Engine, name, err)
		}
	})
}

// Now is the time of the test's clock.
func (s *Server) Now() time.Time { return s.now }

// Advance moves the clock by d, back if d is negative. Keys expire as they would on their own.
func (s *Server) Advance(t testing.TB, d time.Duration) { t.Helper(); s.Set(t, s.now.Add(d)) }

// Set moves the clock to a time.
func (s *Server) Set(t testing.TB, to time.Time) {
	t.Helper()
	if s.now.IsZero() {
		t.Fatalf("%s: the clock is the real one: it cannot be moved", s.Engine)
	}
	s.now = to
	if s.manual != nil {
		s.manual.Set(to)
		return
	}
	us := strconv.FormatInt(to.UnixMicro(), 10)
	// No call may come between: the libraries of a server have one clock. Those that do not use lib/clock have none.
	if _, err := s.Redis.TxPipelined(t.Context(), func(pipe redis.Pipeliner) error {
		for _, lib := range s.clocked {
			pipe.Do(t.Context(), "FCALL", setClock(lib), 0, us)
		}
		return nil
	}); err != nil {
		t.Fatalf("%s: move the clock: %v", s.Engine, err)
	}
}

// Expire gives a key that the test has made an expiry by the test's clock.
func (s *Server) Expire(t testing.TB, key string, ttl time.Duration) {
	t.Helper()
	at := s.now.Add(ttl).UnixMilli() + s.late.Milliseconds()
	if err := s.Redis.Do(t.Context(), "PEXPIREAT", key, at).Err(); err != nil {
		t.Fatalf("%s: expire %s: %v", s.Engine, key, err)
	}
}

// Do runs a command that prepares a step, and fails the test if it fails.
func (s *Server) Do(t testing.TB, args ...any) {
	t.Helper()
	if err := s.Redis.Do(t.Context(), args...).Err(); err != nil {
		t.Fatalf("%s: %v: %v", s.Engine, args[0], err)
	}
}
