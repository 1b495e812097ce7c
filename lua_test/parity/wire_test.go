package parity_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A wire is one connection whose replies are read as they are: go-redis would hide a status behind a text.
type wire struct {
	conn net.Conn
	r    *bufio.Reader
}

func dialWire(t testing.TB, client *redis.Client) *wire {
	t.Helper()
	o := client.Options()
	conn, err := o.Dialer(t.Context(), o.Network, o.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	w := &wire{conn: conn, r: bufio.NewReader(conn)}
	if o.Password != "" {
		w.must(t, "AUTH", o.Password)
	}
	if o.DB != 0 {
		w.must(t, "SELECT", strconv.Itoa(o.DB))
	}
	return w
}

func (w *wire) must(t testing.TB, args ...string) {
	t.Helper()
	if got, err := w.do(args, false); err != nil || strings.HasPrefix(got, "-") {
		t.Fatalf("%s: %s %v", args[0], got, err)
	}
}

// do sends a command and returns its reply on one line: +status, -error, :integer, "text", nil, [array], and those of RESP3 behind their byte.
func (w *wire) do(args []string, sorted bool) (string, error) {
	deadline, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	at, _ := deadline.Deadline()
	if err := w.conn.SetDeadline(at); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(w.conn, b.String()); err != nil {
		return "", err
	}
	return w.read(sorted)
}

func (w *wire) read(sorted bool) (string, error) {
	line, err := w.r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	switch line[0] {
	case '+', '-', ':', ',', '(', '#', '_':
		return line[:1] + strings.Trim(strconv.Quote(line[1:]), `"`), nil
	case '$', '=':
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 0 {
			return "nil", err
		}
		text := make([]byte, n+2)
		if _, err := io.ReadFull(w.r, text); err != nil {
			return "", err
		}
		return strings.Trim(line[:1], "$") + strconv.Quote(string(text[:n])), nil
	case '*', '%', '~', '>':
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 0 {
			return "nil array", err
		}
		if line[0] == '%' {
			n *= 2
		}
		parts := make([]string, n)
		for i := range parts {
			if parts[i], err = w.read(false); err != nil {
				return "", err
			}
		}
		if sorted || line[0] == '~' {
			slices.Sort(parts)
		}
		return strings.Trim(line[:1], "*") + "[" + strings.Join(parts, " ") + "]", nil
	}
	return "", fmt.Errorf("read a reply: unknown type %q", line)
}
