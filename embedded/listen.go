package embedded

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded/internal/wire"
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
	s.serving.Go(func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				s.start(conn)
			}
		}
	})
	return l.Addr(), nil
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
	})
}

// flushAt is the most bytes of pipelined replies before a flush. Without further input, replies are flushed at once.
const flushAt = 64 << 10

func (s *Server) serve(conn net.Conn) {
	defer conn.Close()
	s.mu.Lock()
	session := s.state.Connect(conn.RemoteAddr().String())
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.state.Disconnect(session)
	}()

	r := wire.NewReader(conn)
	box := wire.NewOutbox(conn)
	defer box.Close()
	var out []byte
	for {
		args, err := r.Command()
		if err != nil {
			if refused := wire.ProtocolError(""); errors.As(err, &refused) {
				out = append(out, "-"+refused.Error()+"\r\n"...)
			}
			_, _ = box.Write(out) // the connection ends even after an error
			return
		}
		v, waiter := s.do(session, args)
		if waiter != nil {
			if _, err := box.Write(out); err != nil {
				return
			}
			out = out[:0]
			v = s.await(waiter, r.Watch())
		}
		out = wire.Append(out, v, session.Protocol)
		if r.Waiting() && len(out) < flushAt && !session.Closing {
			continue
		}
		if _, err := box.Write(out); err != nil || session.Closing {
			return
		}
		if out = out[:0]; cap(out) > 16*flushAt {
			out = nil
		}
	}
}
