package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// A pipe sends commands encoded beforehand, so the server never waits for the next one.
type pipe struct {
	conn  net.Conn
	in    *bufio.Reader
	reply []byte // the last reply, as it came
}

func dial(network, addr string) (*pipe, error) {
	conn, err := net.DialTimeout(network, addr, 5*time.Second)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return &pipe{conn: conn, in: bufio.NewReaderSize(conn, 1<<16)}, nil
}

// depth is the number of commands in flight.
const depth = 64

// send runs the commands and checks that every answer begins with expect, or, if expect is empty, is not an error.
func (p *pipe) send(commands [][]byte, expect string, function any) error {
	answer := answers[function]
	if answer == nil || expect == "" {
		answer = func(reply []byte) string { return string(reply) }
	}
	var chunk []byte
	for start := 0; start < len(commands); start += depth {
		batch := commands[start:min(start+depth, len(commands))]
		chunk = append(chunk[:0], bytes.Join(batch, nil)...)
		if _, err := p.conn.Write(chunk); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		for i := range batch {
			p.reply = p.reply[:0]
			if err := p.read(); err != nil {
				return fmt.Errorf("read a reply: %w", err)
			}
			if got := answer(p.reply); !strings.HasPrefix(got, expect) || expect == "" && p.reply[0] == '-' {
				return fmt.Errorf("send %q: got the reply %q, want %q", batch[i], got, expect)
			}
		}
	}
	return nil
}

// read appends the next RESP2 reply to p.reply.
func (p *pipe) read() error {
	line, err := p.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	p.reply = append(p.reply, line...)
	if line[0] != '$' && line[0] != '*' {
		return nil
	}
	n, err := strconv.Atoi(string(line[1 : len(line)-2]))
	if err != nil || n < 0 {
		return err
	}
	if line[0] == '$' {
		at := len(p.reply)
		p.reply = append(p.reply, make([]byte, n+2)...)
		_, err := io.ReadFull(p.in, p.reply[at:])
		return err
	}
	for range n {
		if err := p.read(); err != nil {
			return err
		}
	}
	return nil
}

// decode decodes a RESP2 reply as go-redis does.
func decode(in *bufio.Reader) any {
	line, _ := in.ReadString('\n')
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil
	}
	n, _ := strconv.ParseInt(line[1:], 10, 64)
	switch line[0] {
	case ':':
		return n
	case '$':
		text := make([]byte, max(n+2, 2))
		_, _ = io.ReadFull(in, text)
		return string(text[:len(text)-2])
	case '*':
		all := make([]any, max(n, 0))
		for i := range all {
			all[i] = decode(in)
		}
		return all
	}
	return errors.New(line[1:])
}

// encode writes a command as a client sends it.
func encode(args ...any) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		text := fmt.Sprint(arg)
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(text), text)
	}
	return b
}
