package middleware_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A wire is a listener whose clients choose their address and write raw bytes.
type wire struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newWire() *wire { return &wire{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error   { close(w.closed); return nil }
func (w *wire) Addr() net.Addr { return address("127.0.0.1:80") }

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

type peered struct {
	net.Conn
	peer address
}

func (p peered) RemoteAddr() net.Addr { return p.peer }

// dial connects as a peer. Written bytes reach the server while the test reads.
func (w *wire) dial(t *testing.T, peer string) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	w.conns <- peered{server, address(peer)}
	t.Cleanup(func() { _ = client.Close() })
	_ = client.SetDeadline(time.Now().Add(time.Minute))
	return client
}

// serveHTTP serves a handler over HTTP/1.1 and HTTP/2, and counts its panics.
func serveHTTP(t *testing.T, h http.Handler) (w *wire, panics *atomic.Int32) {
	t.Helper()
	w, panics = newWire(), new(atomic.Int32)
	counting := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				if p != http.ErrAbortHandler {
					panics.Add(1)
				}
				panic(p)
			}
		}()
		h.ServeHTTP(w, r)
	})
	s := &http.Server{Handler: counting, ErrorLog: log.New(io.Discard, "", 0), Protocols: new(http.Protocols)}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = s.Serve(w) }()
	t.Cleanup(func() { _ = s.Close() })
	return w, panics
}

// h1 sends a request of HTTP/1.1, of which the first line has no version, and returns the status of the answer.
func (w *wire) h1(t *testing.T, peer, request string) int {
	t.Helper()
	first, rest, _ := strings.Cut(request, "\n")
	lines := []string{first + " HTTP/1.1", "Connection: close"}
	if !strings.Contains("\n"+rest, "\nHost:") {
		lines = append(lines, "Host: api.example")
	}
	if rest != "" {
		lines = append(lines, strings.Split(rest, "\n")...)
	}
	conn := w.dial(t, peer)
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, strings.Join(lines, "\r\n")+"\r\n\r\n") }()
	method, _, _ := strings.Cut(first, " ")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Errorf("%.60q: no answer: %v", request, err)
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// h2 opens a stream of HTTP/2 and returns the fields of the answer's header and trailer; a stream that the server resets has none. Without
// data it leaves the stream open until the test ends, and does not wait for an answer.
func (w *wire) h2(t *testing.T, peer string, fields []hpack.HeaderField, data []byte) map[string][]string {
	t.Helper()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, f := range fields {
		_ = encoder.WriteField(f)
	}
	conn := w.dial(t, peer)
	if data != nil {
		defer conn.Close()
	}
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	go func() {
		_, _ = io.WriteString(conn, http2.ClientPreface)
		_ = framer.WriteSettings()
		part := block.Next(16 << 10)
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: part, EndHeaders: block.Len() == 0})
		for block.Len() > 0 {
			part = block.Next(16 << 10)
			_ = framer.WriteContinuation(1, block.Len() == 0, part)
		}
		if data != nil {
			_ = framer.WriteData(1, true, data)
		} else {
			_ = framer.WritePing(false, [8]byte{1})
		}
	}()
	got := map[string][]string{}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			var end http2.ConnectionError
			if err != io.EOF && !errors.As(err, &end) {
				t.Errorf("%q: no answer: %v", fields[0], err)
			}
			return got
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			for _, field := range f.Fields {
				got[field.Name] = append(got[field.Name], field.Value)
			}
			if f.StreamEnded() {
				return got
			}
		case *http2.DataFrame:
			if f.StreamEnded() {
				return got
			}
		case *http2.PingFrame:
			if f.IsAck() {
				go func() { _, _ = io.Copy(io.Discard, conn) }()
				return got
			}
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return got
		}
	}
}

// pseudo are the lines of a request of HTTP/2: its method and path, and fields as `name: value`.
func pseudo(request string) []hpack.HeaderField {
	lines := strings.Split(request, "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	all := []hpack.HeaderField{{Name: ":method", Value: method}, {Name: ":path", Value: path}, {Name: ":scheme", Value: "http"}}
	for _, line := range lines[1:] {
		at := strings.Index(line[1:], ": ") + 1
		all = append(all, hpack.HeaderField{Name: line[:at], Value: line[at+2:]})
	}
	return all
}

// statusOf returns the status of HTTP; 0 without one.
func statusOf(fields map[string][]string) int {
	if len(fields[":status"]) == 0 {
		return 0
	}
	status, _ := strconv.Atoi(fields[":status"][0])
	return status
}
