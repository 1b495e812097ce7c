package counting

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
)

// HangUp is an answer that closes the connection.
const HangUp = ""

// Listen returns an address whose connections are served, each by a goroutine of its own. It ends with the test.
func Listen(t testing.TB, serve func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().String()
}

// NewServer returns the address of a server that answers what a test cannot provoke from a real one. answer gets the words of each
// command but HELLO, which the server does not know, and returns a reply of RESP. The server ends with the test.
func NewServer(t testing.TB, answer func(words []string) string) (addr string) {
	t.Helper()
	return Listen(t, func(c net.Conn) { Serve(c, answer) })
}

// Serve is what a server of NewServer does with one connection.
func Serve(c net.Conn, answer func(words []string) string) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		words, err := readCommand(r)
		if err != nil {
			return
		}
		reply := "-ERR unknown command 'HELLO'\r\n"
		if !strings.EqualFold(words[0], "HELLO") {
			reply = answer(words)
		}
		if reply == HangUp {
			return
		}
		if _, err := io.WriteString(c, reply); err != nil {
			return
		}
	}
}

func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r, '*')
	if err != nil {
		return nil, err
	}
	words := make([]string, n)
	for i := range words {
		size, err := readLength(r, '$')
		if err != nil {
			return nil, err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return nil, err
		}
		words[i] = string(word[:size])
	}
	return words, nil
}

func readLength(r *bufio.Reader, mark byte) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != mark {
		return 0, fmt.Errorf("want %c, got %q", mark, line)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}
