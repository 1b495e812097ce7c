package counting

import (
	"bytes"
	"io"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Proxy can cut, delay or drop a request with a call of the Library.
const (
	Pass      = iota
	LoseReply // the server runs it, then the connection breaks before the reply arrives
	HoldReply // the server runs it, and the reply never comes: a read timeout
	SlowReply // the server runs it, and the reply comes slowBy later
	CutBefore // the connection breaks before the server sees it
)

const slowBy = 100 * time.Millisecond

// A Proxy stands between a client and a server and breaks connections on request.
type Proxy struct {
	Addr    string
	Mode    atomic.Int32
	Seen    atomic.Int32 // requests with a call that reached the proxy
	Opened  atomic.Int32 // connections
	backend string
	refusal atomic.Pointer[refusal]
}

// A refusal is what the proxy answers to calls over its first connections.
type refusal struct {
	reply string
	first int32
}

// Refuse makes the connections that are open now answer calls with a reply, and also later ones if always is true.
func (p *Proxy) Refuse(reply string, always bool) {
	r := &refusal{reply, p.Opened.Load()}
	if always {
		r.first = math.MaxInt32
	}
	p.refusal.Store(r)
}

// NewProxy returns a proxy of the server at backend, in the mode Pass. It ends with the test.
func NewProxy(t testing.TB, backend string) *Proxy {
	t.Helper()
	p := &Proxy{backend: backend}
	p.Addr = Listen(t, func(c net.Conn) { p.serve(c, p.Opened.Add(1)) })
	return p
}

func (p *Proxy) serve(client net.Conn, number int32) {
	server, err := net.Dial("tcp", p.backend)
	if err != nil {
		_ = client.Close()
		return
	}
	var once sync.Once
	end := func() { once.Do(func() { _, _ = client.Close(), server.Close() }) }
	defer end()
	var lost atomic.Int32
	var asked atomic.Int64 // when, in ns since 1970
	go func() {
		defer end()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			switch lost.Load() {
			case LoseReply:
				return
			case HoldReply:
				continue
			case SlowReply:
				time.Sleep(time.Until(time.Unix(0, asked.Load()).Add(slowBy)))
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
		words := bytes.ToLower(buf[:n])
		calls := bytes.Count(words, []byte("fcall\r\n"))
		if r := p.refusal.Load(); r != nil && number <= r.first {
			quits := bytes.Contains(words, []byte("quit\r\n")) // answered here, so that its reply keeps its place
			replies := strings.Repeat(r.reply, calls)
			if quits {
				replies += "+OK\r\n"
			}
			if _, err := io.WriteString(client, replies); err != nil || quits {
				return
			}
			if calls > 0 {
				continue
			}
		}
		if bytes.Contains(words, []byte("fcalltest_v1_")) {
			p.Seen.Add(1)
			asked.Store(time.Now().UnixNano())
			lost.Store(p.Mode.Load())
			if lost.Load() == CutBefore {
				return
			}
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}
