package prefetch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxMost       = 10_000
	maxFor        = 10 * time.Second
	refundTimeout = time.Second
)

// Options are the settings of a Limiter.
type Options struct {
	// Most is the number of tokens that one call takes at most: from 1 to 10,000, and no more than the limit admits at once.
	Most int64
	// For bounds how long tokens may be used after they were taken, and by how much a GCRA may admit too many: up to 10 s.
	For time.Duration

	now func() time.Duration // of tests, which end batches themselves; nil is the monotonic clock
}

// A Decision is the answer to one request.
type Decision struct {
	Allowed bool
	// RetryAfter is how long until there may be a token, at most Options.For; 0 when allowed.
	RetryAfter time.Duration
}

// Stats counts tokens and calls since the limiter was made.
type Stats struct {
	Calls    int64 // calls that took tokens, or none
	Taken    int64 // tokens taken
	Refunded int64 // tokens refunded
}

// ErrClosed is the error of Take after Close.
var ErrClosed = errors.New("prefetch: the limiter is closed")

// A Limiter decides requests of one subject and limit. It is safe for concurrent use.
type Limiter struct {
	source  source
	options Options
	batch   atomic.Pointer[batch] // never nil

	mu      sync.Mutex
	call    *call         // in flight; nil without one
	waiting int64         // requests that wait for it
	last    time.Duration // when the last call began
	closed  bool
	stats   Stats
}

// A call to Redis, which one request makes and others wait for.
type call struct {
	done chan struct{}
	err  error // nil also if the request that made it was cancelled
}

var begin = time.Now()

func newLimiter(s source, limit int64, o Options) (*Limiter, error) {
	switch {
	case o.Most < 1 || o.Most > maxMost:
		return nil, fmt.Errorf("prefetch: Most must be from 1 to %d, got %d", maxMost, o.Most)
	case o.Most > limit:
		return nil, fmt.Errorf("prefetch: Most must be at most what the limit admits at once, %d, got %d", limit, o.Most)
	case o.For <= 0 || o.For > maxFor:
		return nil, fmt.Errorf("prefetch: For must be more than 0 and at most %v, got %v", maxFor, o.For)
	}
	l := &Limiter{source: s, options: o, last: -o.For}
	l.batch.Store(&batch{room: limit})
	return l, nil
}

func (l *Limiter) now() time.Duration {
	if l.options.now != nil {
		return l.options.now()
	}
	return time.Since(begin)
}

// Take takes one token, mostly from memory. An error means that there is no decision: nothing was taken, or it is not known.
func (l *Limiter) Take(ctx context.Context) (Decision, error) {
	for {
		b := l.batch.Load()
		now := l.now()
		switch {
		case now < b.retry:
			return Decision{RetryAfter: b.retry - now}, nil
		case now < b.ends && b.take():
			return Decision{Allowed: true}, nil
		}
		took, err := l.fill(ctx, b)
		if took || err != nil {
			return Decision{Allowed: took}, err
		}
	}
}

// fill replaces a batch that is used up or over, and takes a token for this request if it makes the call.
func (l *Limiter) fill(ctx context.Context, old *batch) (took bool, err error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false, ErrClosed
	}
	if l.batch.Load() != old {
		l.mu.Unlock()
		return false, nil
	}
	if c := l.call; c != nil {
		l.waiting++
		l.mu.Unlock()
		select {
		case <-c.done:
			return false, c.err
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	c := &call{done: make(chan struct{})}
	l.call = c
	began := l.now()
	used, unused := old.close()
	want := l.demand(old, used, began)
	l.waiting, l.last = 0, began
	l.mu.Unlock()

	l.refund(ctx, old, unused)
	b, err := l.take(ctx, want, began)
	took = b.take() // as a direct call would, also when the answer is late
	if ctx.Err() == nil {
		c.err = err
	}
	l.mu.Lock()
	l.batch.Store(b)
	l.call = nil
	l.mu.Unlock()
	close(c.done)
	if l.options.now == nil && b.left.Load() > 0 {
		time.AfterFunc(b.ends-l.now(), func() { l.end(b) })
	}
	return took, err
}

// demand returns how many tokens to take: as many as the process used in Options.For, by the last batch, and no fewer than wait.
func (l *Limiter) demand(old *batch, used int64, now time.Duration) int64 {
	elapsed := max(now-l.last, time.Microsecond)
	recent := min(float64(used)*float64(l.options.For)/float64(elapsed), float64(l.options.Most))
	want := min(max(int64(recent), l.waiting+1), l.options.Most)
	return max(min(want, l.source.share(old.room)), 1)
}

// take returns a batch from Redis, an empty one with an error.
func (l *Limiter) take(ctx context.Context, want int64, began time.Duration) (*batch, error) {
	g, err := l.source.take(ctx, want)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Calls++
	if err != nil {
		return &batch{room: want}, err
	}
	l.stats.Taken += g.taken
	b := &batch{taken: g.taken, room: g.remaining, ends: began + min(g.usable, l.options.For), expires: g.expires}
	b.left.Store(g.taken)
	if g.taken == 0 {
		b.retry = l.now() + min(g.retry, l.options.For)
	}
	return b, nil
}

// end refunds the rest of a batch, unless another replaced it.
func (l *Limiter) end(b *batch) {
	ctx, cancel := context.WithTimeout(context.Background(), refundTimeout)
	defer cancel()
	_, unused := b.close()
	l.refund(ctx, b, unused)
}

// refund returns unused tokens. If it fails they are lost.
func (l *Limiter) refund(ctx context.Context, b *batch, unused int64) {
	if unused == 0 {
		return
	}
	refunded, err := l.source.refund(ctx, unused, b.expires)
	if err != nil {
		return
	}
	l.mu.Lock()
	l.stats.Refunded += refunded
	l.mu.Unlock()
}

// Close refunds unused tokens. Take then returns ErrClosed.
func (l *Limiter) Close() {
	l.mu.Lock()
	l.closed = true
	c := l.call
	l.mu.Unlock()
	if c != nil {
		<-c.done
	}
	l.end(l.batch.Swap(&batch{}))
}

// Stats returns what the limiter did until now.
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}
