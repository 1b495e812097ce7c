package wire

import (
	"io"
	"sync"
)

// A source is a connection. While a command of its client is blocked it reads on, so that the end of the connection is noticed.
type source struct {
	conn       io.Reader
	beforeRead func() // runs before a read of conn that the next command waits for

	mu      sync.Mutex
	changed sync.Cond
	watched bool   // a command is blocked
	reading bool   // a goroutine reads ahead
	ahead   []byte // what it has read
	err     error  // what has ended it
	gone    chan struct{}
}

func (s *source) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched = false
	if len(s.ahead) == 0 && s.err == nil {
		s.beforeRead()
	}
	for s.reading && len(s.ahead) == 0 {
		s.changed.Wait()
	}
	switch {
	case len(s.ahead) > 0:
		n := copy(p, s.ahead)
		s.ahead = s.ahead[n:]
		return n, nil
	case s.err != nil:
		return 0, s.err
	}
	return s.conn.Read(p)
}

// watch returns a channel that is closed once the connection has ended, if that is seen before the next Read.
func (s *source) watch() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched = true
	if s.gone == nil {
		s.gone = make(chan struct{})
	}
	if !s.reading && s.err == nil {
		s.reading = true
		go s.readAhead()
	}
	return s.gone
}

func (s *source) readAhead() {
	for {
		chunk := make([]byte, 512)
		n, err := s.conn.Read(chunk)
		s.mu.Lock()
		s.ahead = append(s.ahead, chunk[:n]...)
		if s.err = err; err != nil {
			close(s.gone)
		}
		s.reading = err == nil && s.watched && len(s.ahead) < bufferSize
		goOn := s.reading
		s.changed.Signal()
		s.mu.Unlock()
		if !goOn {
			return
		}
	}
}
