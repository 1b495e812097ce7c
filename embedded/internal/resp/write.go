package resp

import (
	"errors"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
)

// Append adds v as RESP2 to b, or as RESP3 if protocol is 3.
func Append(b []byte, v Value, protocol int) []byte {
	switch v.Kind {
	case Int:
		return header(b, ':', v.Int)
	case Bulk:
		return text(b, '$', v.Str)
	case Status:
		return line(append(b, '+'), v.Str)
	case Error:
		return line(append(b, '-'), v.Str)
	case Array:
		return elements(b, '*', len(v.Array), v.Array, protocol)
	}
	if protocol == 3 {
		return append3(b, v.RESP3())
	}
	switch v.Kind {
	case Nil:
		return append(b, "$-1\r\n"...)
	case NilArray:
		return append(b, "*-1\r\n"...)
	}
	return Append(b, v.RESP2(), protocol)
}

// append3 adds what RESP3 alone has.
func append3(b []byte, v Value) []byte {
	switch v.Kind {
	case Nil, NilArray:
		return append(b, "_\r\n"...)
	case Double:
		return line(append(b, ','), v.Str)
	case Big:
		return line(append(b, '('), v.Str)
	case Verbatim:
		return text(b, '=', v.Str)
	case Map:
		return elements(b, '%', len(v.Array)/2, v.Array, 3)
	case Set:
		return elements(b, '~', len(v.Array), v.Array, 3)
	}
	return Append(b, v, 3)
}

func elements(b []byte, kind byte, n int, values []Value, protocol int) []byte {
	b = header(b, kind, int64(n))
	for i := range values {
		b = Append(b, values[i], protocol)
	}
	return b
}

func text(b []byte, kind byte, s string) []byte {
	b = header(b, kind, int64(len(s)))
	b = append(b, s...)
	return append(b, '\r', '\n')
}

func header(b []byte, kind byte, n int64) []byte {
	b = strconv.AppendInt(append(b, kind), n, 10)
	return append(b, '\r', '\n')
}

// line adds text that must not break the line: its line ends become blanks.
func line(b []byte, text string) []byte {
	for i := range len(text) {
		c := text[i]
		if c == '\r' || c == '\n' {
			c = ' '
		}
		b = append(b, c)
	}
	return append(b, '\r', '\n')
}

// An Outbox writes replies in the background. A client may send a whole pipeline before it reads the first reply:
// a client that waits for its write to be accepted would no longer read, and both sides would block.
type Outbox struct {
	mu      sync.Mutex
	changed sync.Cond
	waiting []byte
	writing int // bytes that have been handed to the connection and are not yet written
	closed  bool
	err     error
	done    chan struct{}
	limits  *Limits
}

// NewOutbox writes to w until Close.
func NewOutbox(w io.Writer, limits *Limits) *Outbox {
	o := &Outbox{done: make(chan struct{}), limits: limits}
	o.changed.L = &o.mu
	go o.run(w)
	return o
}

// Write takes a copy of p. The error is that of an earlier write, or ErrOutput if the client has too much to read.
func (o *Outbox) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	if limit := o.limits.Output.Load(); limit > 0 && int64(o.writing+len(o.waiting)+len(p)) > limit {
		o.limits.OutputClosed.Add(1)
		o.err = ErrOutput
		return 0, o.err
	}
	o.waiting = append(o.waiting, p...)
	o.changed.Signal()
	return len(p), nil
}

// Close waits until all has been written, or a write has failed.
func (o *Outbox) Close() {
	o.mu.Lock()
	o.closed = true
	o.changed.Signal()
	o.mu.Unlock()
	<-o.done
}

func (o *Outbox) run(w io.Writer) {
	defer close(o.done)
	var writing []byte
	for {
		o.mu.Lock()
		for len(o.waiting) == 0 && !o.closed {
			o.changed.Wait()
		}
		// The two buffers change places, unless one has grown large.
		if cap(writing) > maxIdle {
			writing = nil
		}
		writing, o.waiting = o.waiting, writing[:0]
		o.writing = len(writing)
		o.mu.Unlock()
		if len(writing) == 0 {
			return
		}
		if _, err := w.Write(writing); err != nil {
			o.mu.Lock()
			o.err, o.waiting = err, nil
			o.mu.Unlock()
			return
		}
	}
}

// maxIdle is the largest buffer that is kept for later replies.
const maxIdle = 1 << 20

// Limits bound what a client may have the server hold. They may change at any time.
type Limits struct {
	Argument atomic.Int64 // bytes of an argument
	Query    atomic.Int64 // bytes of a command and of those that are queued before it
	Output   atomic.Int64 // bytes of replies that the client has not read; 0 means unlimited

	QueryClosed, OutputClosed atomic.Int64 // clients that were above
}

// Errors of a client that is above a limit. Like Redis, the server closes the connection without a reply.
var (
	ErrQuery  = errors.New("above the query buffer limit")
	ErrOutput = errors.New("above the output buffer limit")
)
