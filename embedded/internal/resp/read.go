package resp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

const (
	maxArgs   = math.MaxInt32
	maxInline = 64 << 10
	maxKept   = 1 << 10 // arguments of a command whose slice is used again
	argHeader = 16      // bytes that an argument takes besides its own

	bufferSize = 16 << 10 // of each connection, also of one that says nothing
)

// A ProtocolError is sent to the client before the connection is closed.
type ProtocolError string

func (e ProtocolError) Error() string { return "ERR Protocol error: " + string(e) }

// Reader reads commands off a connection.
type Reader struct {
	r      *bufio.Reader
	limits *Limits
	args   []string
}

// NewReader reads from conn, within limits. It calls beforeRead before each read of conn.
func NewReader(conn io.Reader, limits *Limits, beforeRead func()) *Reader {
	return &Reader{r: bufio.NewReaderSize(source{conn, beforeRead}, bufferSize), limits: limits}
}

type source struct {
	io.Reader
	beforeRead func()
}

func (s source) Read(p []byte) (int, error) {
	s.beforeRead()
	return s.Reader.Read(p)
}

// Command returns the next command's arguments, at least one. The slice is good until the next call.
// held is how many bytes the client's earlier commands still take.
func (r *Reader) Command(held int64) ([]string, error) {
	if clear(r.args); cap(r.args) > maxKept {
		r.args = nil
	}
	for {
		line, err := r.line("inline request")
		if err != nil {
			return nil, err
		}
		r.args = r.args[:0]
		if len(line) > 0 && line[0] == '*' {
			err = r.array(string(line[1:]), held)
		} else {
			if err = r.hold(&held, int64(len(line))); err == nil {
				if r.args = append(r.args, strings.Fields(string(line))...); bytes.ContainsAny(line, `"'`) {
					err = ProtocolError("the embedded engine reads no quotes in a line")
				}
			}
		}
		if err != nil || len(r.args) > 0 {
			return r.args, err
		}
	}
}

// line returns the next line without its end. The error names it by what.
func (r *Reader) line(what string) ([]byte, error) {
	line, err := r.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line, err = r.longLine(line, what)
	}
	if err != nil {
		return nil, err
	}
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}

// longLine returns a line of which the buffer holds the start only. It sees each byte once it has arrived: the client may wait.
func (r *Reader) longLine(start []byte, what string) ([]byte, error) {
	line := bytes.Clone(start)
	for len(line) <= maxInline {
		if _, err := r.r.Peek(1); err != nil {
			return nil, err
		}
		more, _ := r.r.Peek(r.r.Buffered()) // all of it is there
		end := bytes.IndexByte(more, '\n') + 1
		if end > 0 {
			more = more[:end]
		}
		line = append(line, more...)
		_, _ = r.r.Discard(len(more)) // it is there
		if end > 0 && len(line) <= maxInline {
			return line, nil
		}
	}
	if line[0] == '*' {
		what = "mbulk count string"
	}
	return nil, ProtocolError("too big " + what)
}

func (r *Reader) array(count string, held int64) error {
	n, ok := parseLength(count)
	if !ok || n > maxArgs {
		return ProtocolError("invalid multibulk length")
	}
	for range n {
		line, err := r.line("bulk count string")
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
		size, ok := parseLength(string(line[1:]))
		if !ok || size < 0 || size > r.limits.Argument.Load() {
			return ProtocolError("invalid bulk length")
		}
		if err := r.hold(&held, size+argHeader); err != nil {
			return err
		}
		arg, err := r.bulk(size)
		if err != nil {
			return err
		}
		r.args = append(r.args, arg)
	}
	return nil
}

// parseLength reads an integer without spare characters, which Redis refuses.
func parseLength(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && s == strconv.FormatInt(n, 10)
}

// hold adds to what a client's commands take.
func (r *Reader) hold(held *int64, size int64) error {
	if *held += size; *held > r.limits.Query.Load() {
		r.limits.QueryClosed.Add(1)
		return ErrQuery
	}
	return nil
}

func (r *Reader) bulk(size int64) (string, error) {
	if size+2 <= bufferSize {
		window, err := r.r.Peek(int(size + 2))
		if err != nil {
			return "", err
		}
		arg := string(window[:size])
		_, err = r.r.Discard(int(size + 2))
		return arg, err
	}
	// Grown while the bytes arrive: a length alone costs no memory.
	var b strings.Builder
	b.Grow(bufferSize)
	if _, err := io.CopyN(&b, r.r, size); err != nil {
		return "", err
	}
	_, err := r.r.Discard(2)
	return b.String(), err
}
