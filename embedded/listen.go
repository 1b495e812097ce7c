package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
)

// Listen accepts connections until Close, and returns the address that it listens on. addr is host:port, where port 0 stands for a
// free port, or the path of a unix socket (with a slash in it, or after "unix:").
func (s *Server) Listen(addr string) (net.Addr, error) {
	network := "tcp"
	if path, found := strings.CutPrefix(addr, "unix:"); found || strings.Contains(addr, "/") {
		network, addr = "unix", strings.TrimPrefix(path, "//")
	}
	l, err := net.Listen(network, addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		_ = l.Close() // no client knows its address yet
		return nil, fmt.Errorf("listen on %s: %w", addr, redis.ErrClosed)
	}
	s.listeners = append(s.listeners, l)
	s.serving.Go(func() { s.accept(l) })
	return l.Addr(), nil
}

// acceptPause is how long Listen waits after a connection that could not be accepted, as for want of a file descriptor.
const acceptPause = 20 * time.Millisecond

func (s *Server) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			select {
			case <-time.After(acceptPause):
			case <-s.closing:
			}
		case s.full():
			s.state.Rejected.Add(1)
			_, _ = conn.Write([]byte("-ERR max number of clients reached\r\n")) // fits the buffer of a new connection
			_ = conn.Close()                                                    // the connection ends even after an error
		default:
			s.start(conn)
		}
	}
}

// full reports whether there are as many connections as maxclients permits.
func (s *Server) full() bool {
	s.life.Lock()
	defer s.life.Unlock()
	return int64(len(s.conns)) >= s.state.MaxClients.Load()
}

// start serves conn, or closes it if the server is closed.
func (s *Server) start(conn net.Conn) {
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		_ = conn.Close() // the connection ends even after an error
		return
	}
	s.conns[conn] = struct{}{}
	s.serving.Go(func() {
		s.serve(conn)
		s.life.Lock()
		defer s.life.Unlock()
		delete(s.conns, conn)
		_ = conn.Close() // its place is free once its client sees the end
	})
}

// flushAt is the most bytes of pipelined replies before a flush. Without a further whole command, replies are flushed at once.
const flushAt = 64 << 10

func (s *Server) serve(conn net.Conn) {
	s.mu.Lock()
	session := s.state.Connect(conn.RemoteAddr().String())
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.state.Disconnect(session)
	}()

	box := resp.NewOutbox(conn, &s.state.Limits)
	defer box.Close()
	var out []byte
	flush := func() bool {
		if len(out) == 0 {
			return true
		}
		if _, err := box.Write(out); err != nil {
			_ = conn.Close() // so that Close of box does not wait for a client that does not read
			return false
		}
		if out = out[:0]; cap(out) > 16*flushAt {
			out = nil
		}
		return true
	}
	r := resp.NewReader(conn, &s.state.Limits, func() { flush() })
	for {
		args, err := r.Command(session.Queued())
		if refused := resp.ProtocolError(""); errors.As(err, &refused) {
			out = append(out, "-"+refused.Error()+"\r\n"...)
		}
		if err != nil || fromBrowser(args[0]) {
			flush()
			return
		}
		out = resp.Append(out, s.do(session, args), session.Protocol)
		if len(out) >= flushAt || session.Closing {
			if !flush() || session.Closing {
				return
			}
		}
	}
}

// fromBrowser reports whether a line is of HTTP: a page that a browser shows could send commands in the body of a request.
func fromBrowser(word string) bool {
	return strings.EqualFold(word, "POST") || strings.EqualFold(word, "Host:")
}

// Client returns a go-redis client of this server, over connections in memory. It speaks RESP3, as every client of go-redis by default: replies
// without a type of their own, as those of Do, are what production code gets. The caller closes it.
func (s *Server) Client() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: "embedded",
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			near, far := resp.Pipe()
			s.start(far)
			return near, nil
		},
		// Without an endpoint type go-redis looks up the address, which is no host.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled, EndpointType: maintnotifications.EndpointTypeNone},
	})
}
