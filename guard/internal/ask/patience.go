package ask

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/guard/internal/moment"
)

// ErrTimeout is an answer that did not come within the policy's timeout.
var ErrTimeout = errors.New("redis did not answer in time")

// A clock ends the waits of requests. Those that begin within a 16th of the timeout share one timer.
type clock struct{ last atomic.Pointer[term] }

// A term is when the waits of some requests end.
type term struct {
	ends moment.Moment
	over chan struct{}
}

// in returns a term that ends within a time, and after 15 16ths of it at least.
func (c *clock) in(d time.Duration, at moment.Moment) *term {
	if t := c.last.Load(); t != nil {
		if left := t.ends.Since(at); left <= d && left >= d-d/16 {
			return t
		}
	}
	t := &term{ends: at.Add(d), over: make(chan struct{})}
	time.AfterFunc(d, func() { close(t.over) })
	c.last.Store(t)
	return t
}

// A patience is the context of calls that go on when the request does not wait any longer: it has the request's values and no end.
type patience struct {
	request context.Context
	term    *term
}

func (*patience) Deadline() (time.Time, bool) { return time.Time{}, false }
func (*patience) Done() <-chan struct{}       { return nil }
func (*patience) Err() error                  { return nil }
func (p *patience) Value(key any) any         { return p.request.Value(key) }

// Leave returns what ends the request's wait.
func (p *patience) Leave() (one, other <-chan struct{}) { return p.request.Done(), p.term.over }

// Left is why the request waits no longer.
func (p *patience) Left() error {
	if err := p.request.Err(); err != nil {
		return err
	}
	select {
	case <-p.term.over:
		return ErrTimeout
	default:
		return nil
	}
}
