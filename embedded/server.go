package embedded

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded/internal/command"
	"github.com/rlfunc/rlfunc/embedded/internal/luahost"
	"github.com/rlfunc/rlfunc/embedded/internal/resp"
)

// Options configures a Server. The zero value is useful.
type Options struct {
	// Clock is the time of TIME and of every expiry. Defaults to the real time.
	Clock Clock
	// Logger receives the messages of redis.log. Defaults to none.
	Logger *slog.Logger
	// UndeclaredKeys permits functions to use keys that are not among the keys of their call, as Redis does outside of
	// a cluster. Defaults to false: such a command gets an error that begins with RLUNDECLARED.
	UndeclaredKeys bool
	// Observer is told what the server's functions do. Defaults to none.
	Observer Observer
}

// A Server is a Redis server inside the process. It is safe for concurrent use.
type Server struct {
	mu    sync.Mutex // held for each command, FCALL and EXEC; one that is slow releases it between its commands, when others get BUSY
	state *command.State
	own   *command.Session // of Process
	clock Clock

	life      sync.Mutex
	closed    bool
	closing   chan struct{} // closed by Close
	listeners []net.Listener
	conns     map[net.Conn]struct{}
	serving   sync.WaitGroup
	client    *redis.Client // of Process, for replies that only go-redis can decode
}

// New starts an empty server. The caller closes it.
func New(o Options) *Server {
	if o.Clock == nil {
		o.Clock = realClock{}
	}
	var log func(level int, text string)
	if o.Logger != nil {
		log = func(level int, text string) {
			// redis.LOG_DEBUG, LOG_VERBOSE, LOG_NOTICE and LOG_WARNING are 0 to 3.
			levels := [...]slog.Level{slog.LevelDebug, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn}
			o.Logger.Log(context.Background(), levels[min(max(level, 0), 3)], text)
		}
	}
	s := &Server{state: command.NewState(o.Clock.Now, log), conns: make(map[net.Conn]struct{}), closing: make(chan struct{})}
	s.state.AnyKey = o.UndeclaredKeys
	s.state.Functions.Observer = o.Observer
	s.state.Share(&s.mu)
	s.own = &command.Session{Addr: "process"}
	s.clock = o.Clock
	return s
}

// do runs one command of a session.
func (s *Server) do(session *command.Session, args []string) resp.Value {
	if len(args) == 2 && strings.EqualFold(args[1], "kill") && strings.EqualFold(args[0], "function") && !session.Queues() {
		return s.state.Kill() // does not wait for what it stops
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Do(session, args)
}

// UsedMemory returns the used_memory of INFO: an estimate of the bytes of keys and functions.
func (s *Server) UsedMemory() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.UsedMemory()
}

// Now returns the time of the server's clock.
func (s *Server) Now() time.Time { return s.clock.Now() }

// Close stops listening and ends all connections. Process then returns redis.ErrClosed.
func (s *Server) Close() error {
	s.life.Lock()
	if s.closed {
		s.life.Unlock()
		return nil
	}
	s.closed = true
	close(s.closing)
	var first error
	keep := func(err error) {
		if err != nil && first == nil {
			first = err
		}
	}
	for _, l := range s.listeners {
		keep(l.Close())
	}
	if s.client != nil {
		keep(s.client.Close())
	}
	for conn := range s.conns {
		_ = conn.Close() // the other end may have closed it already
	}
	s.life.Unlock()
	s.serving.Wait()
	return first
}

// A Block is a body of a function, a loop or a branch.
type Block = luahost.Block

// An Observer is told what functions do while they run: contract tests and the strict steps of luatest are built on it. Its methods
// are called on the goroutine of the call, while the server is locked, so they must not use the server.
//
// A value of Lua is nil, a bool, a float64, a string, a map[any]any for a table, and a struct{} for anything else. Lines are those of
// the library's code.
type Observer = luahost.Observer

// A Clock returns a server's time.
type Clock interface{ Now() time.Time }

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

// A ManualClock is a Clock that only Set and Advance move. It is safe for concurrent use.
type ManualClock struct {
	mu  sync.Mutex
	now time.Time
}

// NewManualClock returns a clock set to t.
func NewManualClock(t time.Time) *ManualClock { return &ManualClock{now: t} }

// Now returns the time of the clock.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set moves the clock to t, forward or back.
func (c *ManualClock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// Advance moves the clock by d, back if d is negative.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
