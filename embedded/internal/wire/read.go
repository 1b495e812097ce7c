// Package wire reads commands and writes replies in RESP2.
package wire

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	maxArgs   = 1 << 20
	maxBulk   = 512 << 20
	maxInline = 64 << 10
)

// A ProtocolError is sent to the client before the connection is closed.
type ProtocolError string

func (e ProtocolError) Error() string { return "ERR Protocol error: " + string(e) }

// Reader reads commands off a connection.
type Reader struct {
	r    *bufio.Reader
	args []string

	peeking chan struct{} // closed when Watch has seen more input, or the end
}

// NewReader reads from r.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, maxInline)} }

// Waiting reports whether more input has arrived already.
func (r *Reader) Waiting() bool {
	select {
	case <-r.peeking:
		r.peeking = nil
	default:
		if r.peeking != nil {
			return false
		}
	}
	return r.r.Buffered() > 0
}

// Watch returns a channel that is closed if the connection ends before the next command arrives.
func (r *Reader) Watch() <-chan struct{} {
	gone, peeking, buffered := make(chan struct{}), make(chan struct{}), r.r.Buffered()
	r.peeking = peeking
	go func() {
		defer close(peeking)
		if _, err := r.r.Peek(buffered + 1); err != nil && err != bufio.ErrBufferFull {
			close(gone)
		}
	}()
	return gone
}

// Command returns the next command's arguments, at least one. The slice is good until the next call.
func (r *Reader) Command() ([]string, error) {
	if r.peeking != nil {
		<-r.peeking
		r.peeking = nil
	}
	for {
		line, err := r.line()
		if err != nil {
			return nil, err
		}
		r.args = r.args[:0]
		if len(line) > 0 && line[0] == '*' {
			err = r.array(string(line[1:]))
		} else {
			err = r.inline(string(line))
		}
		if err != nil || len(r.args) > 0 {
			return r.args, err
		}
	}
}

// line returns the next line without its end.
func (r *Reader) line() ([]byte, error) {
	line, err := r.r.ReadSlice('\n')
	switch {
	case err == bufio.ErrBufferFull:
		return nil, ProtocolError("too big inline request")
	case err != nil:
		return nil, err
	}
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}

func (r *Reader) array(count string) error {
	n, err := strconv.Atoi(count)
	if err != nil || n > maxArgs {
		return ProtocolError("invalid multibulk length")
	}
	for range n {
		line, err := r.line()
		if err != nil {
			return err
		}
		if len(line) == 0 || line[0] != '$' {
			got := " "
			if len(line) > 0 {
				got = string(line[:1])
			}
			return ProtocolError(fmt.Sprintf("expected '$', got '%s'", got))
		}
		size, err := strconv.Atoi(string(line[1:]))
		if err != nil || size < 0 || size > maxBulk {
			return ProtocolError("invalid bulk length")
		}
		arg, err := r.bulk(size)
		if err != nil {
			return err
		}
		r.args = append(r.args, arg)
	}
	return nil
}

func (r *Reader) bulk(size int) (string, error) {
	if window, err := r.r.Peek(min(size+2, r.r.Size())); err == nil && len(window) == size+2 {
		arg := string(window[:size])
		_, err := r.r.Discard(size + 2)
		return arg, err
	}
	// Grown while the bytes arrive: a length alone costs no memory.
	var b strings.Builder
	if _, err := io.CopyN(&b, r.r, int64(size)); err != nil {
		return "", err
	}
	_, err := r.r.Discard(2)
	return b.String(), err
}

// inline reads a command typed by hand: words, where quotes hold blanks together and escapes stand for bytes.
func (r *Reader) inline(line string) error {
	for {
		line = strings.TrimLeft(line, " \t\n\v\f\r\x00")
		if line == "" {
			return nil
		}
		word, rest, ok := cutWord(line)
		if !ok {
			return ProtocolError("unbalanced quotes in request")
		}
		r.args = append(r.args, word)
		line = rest
	}
}
