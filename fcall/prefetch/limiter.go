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
	// Around runs each call to Redis, whose context has the values of a request's but does not end with it. It may give it a deadline, or
	// not make it and return an error. Defaults to the call alone.
	Around func(ctx context.Context, call func(context.Context) error) error
	// Observe runs after each call to Redis, with what it adds to the limiter's Stats. It must not block. Defaults to nothing.
	Observe func(added Stats)

	now func() time.Duration // of tests, which end batches themselves; nil is the monotonic clock
}

// A Decision is the answer to one request.
type Decision struct {
	Allowed bool
	// RetryAfter is how long until there is a token if nothing is refunded; 0 when allowed. Take asks Redis again after Options.For.
	RetryAfter time.Duration
	// Remaining is what the limit had left after the last call to Redis, and what is left of the batch. Other processes may have taken
	// some of it since.
	Remaining int64
	// ResetAfter is how long until the limit has its full capacity again, as of the last call to Redis.
	ResetAfter time.Duration

	batch *batch
}

// Stats counts tokens and calls since the limiter was made.
type Stats struct {
	Calls    int64 // calls that took tokens, or none
	Failed   int64 // those without an answer: each may have lost as many tokens as it asked for
	Taken    int64 // tokens taken
	Refunded int64 // tokens refunded
	Lost     int64 // tokens whose refund came too late or failed
}

// ErrClosed is the error of Take after Close.
var ErrClosed = errors.New("prefetch: the limiter is closed")

// A Limiter decides requests of one subject and limit. It is safe for concurrent use.
type Limiter struct {
	source  source
	options Options
	batch   atomic.Pointer[batch] // never nil

	mu      sync.Mutex
	call    *call // in flight; nil without one
	waiting int64 // requests that wait for it, or waited for the last one
	demand  demand
	closed  bool
	stats   Stats

	refunds sync.RWMutex // read by each refund in flight
}

// A call to Redis, which one request begins and others wait for. Nothing of it changes once it has ended.
type call struct {
	done  chan struct{}
	left  bool // the request that began it stopped waiting
	ended bool
	taken *batch // with a token for the request that began it; nil without one
	err   error
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
	l := &Limiter{source: s, options: o, demand: demand{Most: o.Most, For: o.For}}
	if o.Around == nil {
		l.options.Around = func(ctx context.Context, call func(context.Context) error) error { return call(ctx) }
	}
	if o.Observe == nil {
		l.options.Observe = func(Stats) {}
	}
	l.batch.Store(emptyBatch(limit))
	return l, nil
}

func (l *Limiter) now() time.Duration {
	if l.options.now != nil {
		return l.options.now()
	}
	return time.Since(begin)
}

// Try decides from memory. It reports false if that is not possible.
func (l *Limiter) Try() (Decision, bool) {
	b, now := l.batch.Load(), l.now()
	switch {
	case now < b.Ends && b.Take():
		return decision(b, true, now), true
	case now < b.Refuses:
		return decision(b, false, now), true
	}
	return Decision{}, false
}

func decision(b *batch, allowed bool, now time.Duration) Decision {
	d := Decision{Allowed: allowed, Remaining: b.Remaining + b.Left(), ResetAfter: max(b.Reset-(now-b.Decided), 0), batch: b}
	if !allowed {
		d.RetryAfter = b.Retry - (now - b.Decided)
	}
	return d
}

// Take takes one token, mostly from memory. It waits for Redis until ctx ends; a call that others wait for continues. An error means that there is no decision: nothing was taken, or it is not known.
func (l *Limiter) Take(ctx context.Context) (Decision, error) {
	for {
		old := l.batch.Load()
		if d, ok := l.Try(); ok {
			return d, nil
		}
		b, err := l.fill(ctx, old)
		if err != nil {
			return Decision{}, err
		}
		if b != nil {
			return decision(b, true, l.now()), nil
		}
	}
}

// Refund returns the token of an allowed decision that its request does not use: to the batch, or if that has ended to Redis, also if ctx
// has ended. Call it once.
func (l *Limiter) Refund(ctx context.Context, d Decision) {
	if d.Allowed && !d.batch.Put() {
		l.refund(ctx, d.batch, 1)
	}
}

// fill replaces a batch that is used up or over. It returns the new batch if it began the call and took a token of it for this request.
// The tokens are those of all requests, so the call continues if this one stops waiting.
func (l *Limiter) fill(ctx context.Context, old *batch) (*batch, error) {
	l.mu.Lock()
	switch {
	case l.closed:
		l.mu.Unlock()
		return nil, ErrClosed
	case l.batch.Load() != old:
		l.mu.Unlock()
		return nil, nil
	}
	c, first := l.call, l.call == nil
	if first {
		c = &call{done: make(chan struct{})}
		l.call = c
		began := l.now()
		used, unused := old.Close()
		want := l.demand.Next(old, used, l.waiting, began)
		l.waiting = 0
		go l.replace(context.WithoutCancel(ctx), c, want, began, old, unused)
	} else {
		l.waiting++
	}
	l.mu.Unlock()
	select {
	case <-c.done:
	case <-ctx.Done():
		if l.leave(c, first) {
			return nil, context.Cause(ctx)
		}
	}
	if first {
		return c.taken, c.err
	}
	return nil, c.err
}

// leave reports whether a request can stop waiting for a call: not once it has ended, because it may have a token for the request.
func (l *Limiter) leave(c *call, first bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.ended:
		return false
	case first:
		c.left = true
	default:
		l.waiting--
	}
	return true
}

// replace makes the call, after a refund of what the old batch had left.
func (l *Limiter) replace(ctx context.Context, c *call, want int64, began time.Duration, old *batch, unused int64) {
	l.refund(ctx, old, unused)
	b, err := l.take(ctx, want, began)
	l.mu.Lock()
	if !c.left && b.Take() { // as a direct call would, also when the answer is late
		c.taken = b
	} else {
		c.err = err
	}
	l.batch.Store(b)
	l.call, c.ended = nil, true
	l.mu.Unlock()
	close(c.done)
	if l.options.now == nil && b.Left() > 0 {
		time.AfterFunc(b.Ends-l.now(), func() { l.end(b) })
	}
}

// take returns a batch from Redis, an empty one with an error.
func (l *Limiter) take(ctx context.Context, want int64, began time.Duration) (*batch, error) {
	var g grant
	err := l.options.Around(ctx, func(ctx context.Context) (err error) {
		g, err = l.source.take(ctx, want)
		return err
	})
	if err != nil {
		l.count(Stats{Calls: 1, Failed: 1})
		return emptyBatch(want), err
	}
	l.count(Stats{Calls: 1, Taken: g.Taken})
	return newBatch(g, want, began, l.now(), l.options.For), nil
}

// end refunds the rest of a batch, unless another replaced it.
func (l *Limiter) end(b *batch) {
	_, unused := b.Close()
	l.refund(context.Background(), b, unused)
}

// refund returns unused tokens. If it fails they are lost.
func (l *Limiter) refund(ctx context.Context, b *batch, unused int64) {
	if unused == 0 {
		return
	}
	l.refunds.RLock()
	defer l.refunds.RUnlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refundTimeout)
	defer cancel()
	var refunded int64
	_ = l.options.Around(ctx, func(ctx context.Context) (err error) {
		refunded, err = l.source.refund(ctx, unused, b.Expires)
		return err
	})
	l.count(Stats{Refunded: refunded, Lost: unused - refunded})
}

func (l *Limiter) count(added Stats) {
	l.mu.Lock()
	l.stats.Calls += added.Calls
	l.stats.Failed += added.Failed
	l.stats.Taken += added.Taken
	l.stats.Refunded += added.Refunded
	l.stats.Lost += added.Lost
	l.mu.Unlock()
	l.options.Observe(added)
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
	l.end(l.batch.Swap(new(batch)))
	l.refunds.Lock() // waits for those in flight
	defer l.refunds.Unlock()
}

// Stats returns what the limiter did until now.
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}
