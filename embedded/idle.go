package embedded

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// idleConns are the connections of listeners. They end once they are idle for longer than the setting timeout, on the machine's clock:
// a test that advances its own does not lose its connections.
type idleConns struct {
	mu    sync.Mutex
	conns map[*idleConn]struct{}
}

// idleConn is a connection whose deadline moves with each read and write.
type idleConn struct {
	net.Conn
	server *Server

	mu      sync.Mutex
	waiting bool // the client waits for a blocked command
	armed   bool // there is a deadline

	ended atomic.Bool // it was idle for too long; a read in the background may have noticed
}

func (s *Server) idleConn(conn net.Conn) *idleConn {
	c := &idleConn{Conn: conn, server: s}
	s.idle.mu.Lock()
	defer s.idle.mu.Unlock()
	if s.idle.conns == nil {
		s.idle.conns = make(map[*idleConn]struct{})
	}
	s.idle.conns[c] = struct{}{}
	return c
}

// idleChanged applies a new timeout to all connections.
func (s *Server) idleChanged() {
	s.idle.mu.Lock()
	defer s.idle.mu.Unlock()
	for c := range s.idle.conns {
		c.arm()
	}
}

func (c *idleConn) Read(p []byte) (int, error) {
	c.arm()
	if c.ended.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := c.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.ended.Store(true)
	}
	return n, err
}

func (c *idleConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.arm()
	return n, err
}

func (c *idleConn) Close() error {
	c.server.idle.mu.Lock()
	delete(c.server.idle.conns, c)
	c.server.idle.mu.Unlock()
	return c.Conn.Close()
}

// wait says that the client waits for a blocked command, or no longer does. A connection in the process has no idleConn.
func (c *idleConn) wait(waiting bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.waiting = waiting
	c.mu.Unlock()
	c.arm()
}

// arm moves the deadline. An error means that the connection has ended, as the next read reports.
func (c *idleConn) arm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	timeout := time.Duration(c.server.state.IdleSeconds.Load()) * time.Second
	switch {
	case timeout > 0 && !c.waiting:
		_ = c.SetReadDeadline(time.Now().Add(timeout))
		c.armed = true
	case c.armed:
		_ = c.SetReadDeadline(time.Time{})
		c.armed = false
	}
}
