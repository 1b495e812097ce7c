package clienttest

import (
	"bytes"
	"net"
	"sync/atomic"
	"testing"
)

// Proxy starts a proxy before a server, and returns its address. It closes the connection in place of the reply to a request that
// contains "lose-reply:", and never passes on that of one with "hold-reply:".
func Proxy(t testing.TB, backend string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go relay(client, backend)
		}
	}()
	return l.Addr().String()
}

func relay(client net.Conn, backend string) {
	defer client.Close()
	server, err := net.Dial("tcp", backend)
	if err != nil {
		return
	}
	defer server.Close()
	var lose, hold atomic.Bool
	go func() {
		defer client.Close()
		reply := make([]byte, 64<<10)
		for {
			n, err := server.Read(reply)
			if err != nil {
				return
			}
			if !bytes.Contains(reply[:n], []byte("Function not found")) { // else the client loads the library first
				if lose.Load() {
					return
				}
				if hold.Load() {
					continue
				}
			}
			if _, err := client.Write(reply[:n]); err != nil {
				return
			}
		}
	}()
	request := make([]byte, 64<<10)
	for {
		n, err := client.Read(request)
		if err != nil {
			return
		}
		lose.Store(bytes.Contains(request[:n], []byte("lose-reply:")))
		hold.Store(bytes.Contains(request[:n], []byte("hold-reply:")))
		if _, err := server.Write(request[:n]); err != nil {
			return
		}
	}
}
