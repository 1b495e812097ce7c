package fcall_test

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A proxy can cut, delay or drop a request with an FCALL.
const (
	pass      = iota
	loseReply // the server runs it, then the connection breaks before the reply arrives
	holdReply // the server runs it, and the reply never comes: a read timeout
	slowReply // the server runs it, and the reply comes after slowBy
	cutBefore // the connection breaks before the server sees it
)

const slowBy = 100 * time.Millisecond

// A proxy stands between a client and a server and breaks connections on request.
type proxy struct {
	addr    string
	backend string
	mode    atomic.Int32
	seen    atomic.Int32 // requests with an FCALL that reached the proxy
}

func newProxy(t testing.TB, backend string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: l.Addr().String(), backend: backend}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.backend)
	if err != nil {
		_ = client.Close()
		return
	}
	var once sync.Once
	end := func() { once.Do(func() { _, _ = client.Close(), server.Close() }) }
	defer end()
	var lost atomic.Int32
	go func() {
		defer end()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			switch lost.Load() {
			case loseReply:
				return
			case holdReply:
				continue
			case slowReply:
				time.Sleep(slowBy)
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if bytes.Contains(bytes.ToLower(buf[:n]), []byte("fcalltest_v1_")) {
			p.seen.Add(1)
			lost.Store(p.mode.Load())
			if lost.Load() == cutBefore {
				return
			}
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}
