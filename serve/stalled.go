package serve

import (
	"net"
	"time"
)

// A stalledListener ends connections whose peers do not read what the server writes.
type stalledListener struct {
	net.Listener
	within time.Duration
}

func (l stalledListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return stalledConn{conn, l.within}, nil
}

// A stalledConn ends at a write that takes longer than within.
type stalledConn struct {
	net.Conn
	within time.Duration
}

func (c stalledConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.within)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if err != nil {
		_ = c.Close() // gRPC waits for a failing read
	}
	return n, err
}
