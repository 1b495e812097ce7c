package wire

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

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
