package prefetch

import (
	"math"
	"sync/atomic"
	"time"
)

// A batch holds the tokens of one call, or how long a refusal holds. Times are those of its process's monotonic clock.
type batch struct {
	grant
	Ends    time.Duration // tokens are used before it
	Refuses time.Duration // requests are refused until then, once all tokens are used
	Decided time.Duration // when the answer came

	left atomic.Int64 // below 0 when more was asked for, and once the batch is closed
}

// closedBatch and how many tokens were used is what is left of a closed batch.
const closedBatch = -1 << 60

// emptyBatch returns a batch without tokens. The next call may take the given share.
func emptyBatch(share int64) *batch { return &batch{grant: grant{share: share}} }

// newBatch returns the batch of a call that asked for some tokens, began and was answered at these times. Its tokens and its refusal hold for
// at most the given time.
func newBatch(g grant, asked int64, began, answered, most time.Duration) *batch {
	if 0 < g.Taken && g.Taken < asked {
		g.Retry = g.next
	}
	b := &batch{grant: g, Ends: began + min(g.usable, most), Refuses: answered + min(g.Retry, most), Decided: answered}
	b.left.Store(g.Taken)
	return b
}

// Take takes a token.
func (b *batch) Take() bool { return b.left.Load() > 0 && b.left.Add(-1) >= 0 }

// Put puts a token back, unless the batch is closed.
func (b *batch) Put() bool {
	for {
		left := b.left.Load()
		if left <= closedBatch/2 {
			return false
		}
		if b.left.CompareAndSwap(left, max(left, 0)+1) {
			return true
		}
	}
}

// Left returns how many tokens are left.
func (b *batch) Left() int64 { return max(b.left.Load(), 0) }

// Close ends a batch, and returns how many of its tokens were used and how many were not. A second call returns no unused ones.
func (b *batch) Close() (used, unused int64) {
	for {
		left := b.left.Load()
		if left <= closedBatch/2 {
			return max(left-closedBatch, 0), 0
		}
		unused = max(left, 0)
		if b.left.CompareAndSwap(left, closedBatch+b.Taken-unused) {
			return b.Taken - unused, unused
		}
	}
}

// span returns how long the tokens of a next call may be used, as far as this batch shows.
func (b *batch) span(now, most time.Duration) time.Duration {
	if !b.window {
		return min(b.usable, most)
	}
	if left := b.usable - (now - b.Decided); left > 0 {
		return min(left, most)
	}
	return most // of a new window
}

// A demand sizes the calls of one process.
type demand struct {
	Most int64
	For  time.Duration

	last time.Duration // when the last call began
}

// Next returns how many tokens a call takes: as many as the process uses while it may, at the rate of the last batch, and no fewer than wait.
func (d *demand) Next(last *batch, used, waiting int64, now time.Duration) int64 {
	elapsed := max(now-d.last, time.Microsecond)
	// A rate by few tokens is not known well, so a batch has at most four times as many.
	expected := min(float64(used)*float64(last.span(now, d.For))/float64(elapsed), 4*float64(used), float64(d.Most))
	d.last = now
	return max(min(max(int64(expected), waiting+1), d.Most, last.share), 1)
}

// A grant is what one call took of a limit, by the server's answer.
type grant struct {
	Taken     int64
	Remaining int64
	Reset     time.Duration // until the limit has its full capacity
	Retry     time.Duration // until there is a token; 0 if any was taken
	Expires   time.Time     // a refund expires then, by the server's clock

	usable time.Duration // from before the call
	next   time.Duration // until there is a token, if the call took all
	share  int64         // the most that the next call may take
	window bool          // tokens end with a window
}

// OfBucket returns the grant of a token bucket that gains a token in each interval, and admits at most rate x bound too many.
func (g grant) OfBucket(interval, bound time.Duration) grant {
	// Tokens that are used a time U after they were taken admit rate x U too many. Those that are refunded after H may have been
	// gained again before, which admits rate x H too many. Both together are the bound.
	usable, refundable := bound*2/5, bound*3/5
	if by := g.Expires.Add(refundable - g.Reset); by.Before(g.Expires) {
		g.Expires = by
	}
	g.usable, g.next, g.share = usable, interval, math.MaxInt64 // a bucket gains further tokens for other processes
	return g
}

// OfWindow returns the grant of a fixed window, whose tokens end with it.
func (g grant) OfWindow() grant {
	g.usable = g.Reset - time.Millisecond // the server decided after the call began, and its window ends with a millisecond
	g.next, g.window = g.Reset, true
	g.share = g.Remaining / 4 // other processes gain nothing until the window ends
	return g
}
