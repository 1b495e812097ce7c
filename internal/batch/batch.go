package batch

import (
	"sync/atomic"
	"time"
)

// A Batch holds the tokens of one call, or how long a refusal holds. Times are those of its process's monotonic clock.
type Batch struct {
	Grant
	Ends    time.Duration // tokens are used before it
	Refuses time.Duration // requests are refused until then, once all tokens are used
	Decided time.Duration // when the answer came

	left atomic.Int64 // below 0 when more was asked for, and once the batch is closed
}

// closed and how many tokens were used is what is left of a closed batch.
const closed = -1 << 60

// Empty returns a batch without tokens. The next call may take the given share.
func Empty(share int64) *Batch { return &Batch{Grant: Grant{share: share}} }

// New returns the batch of a call that asked for some tokens, began and was answered at these times. Its tokens and its refusal hold for
// at most the given time.
func New(g Grant, asked int64, began, answered, most time.Duration) *Batch {
	if 0 < g.Taken && g.Taken < asked {
		g.Retry = g.next
	}
	b := &Batch{Grant: g, Ends: began + min(g.usable, most), Refuses: answered + min(g.Retry, most), Decided: answered}
	b.left.Store(g.Taken)
	return b
}

// Take takes a token.
func (b *Batch) Take() bool { return b.left.Load() > 0 && b.left.Add(-1) >= 0 }

// Put puts a token back, unless the batch is closed.
func (b *Batch) Put() bool {
	for {
		left := b.left.Load()
		if left <= closed/2 {
			return false
		}
		if b.left.CompareAndSwap(left, max(left, 0)+1) {
			return true
		}
	}
}

// Left returns how many tokens are left.
func (b *Batch) Left() int64 { return max(b.left.Load(), 0) }

// Close ends a batch, and returns how many of its tokens were used and how many were not. A second call returns no unused ones.
func (b *Batch) Close() (used, unused int64) {
	for {
		left := b.left.Load()
		if left <= closed/2 {
			return max(left-closed, 0), 0
		}
		unused = max(left, 0)
		if b.left.CompareAndSwap(left, closed+b.Taken-unused) {
			return b.Taken - unused, unused
		}
	}
}

// span returns how long the tokens of a next call may be used, as far as this batch shows.
func (b *Batch) span(now, most time.Duration) time.Duration {
	if !b.window {
		return min(b.usable, most)
	}
	if left := b.usable - (now - b.Decided); left > 0 {
		return min(left, most)
	}
	return most // of a new window
}

// A Demand sizes the calls of one process.
type Demand struct {
	Most int64
	For  time.Duration

	last time.Duration // when the last call began
}

// Next returns how many tokens a call takes: as many as the process uses while it may, at the rate of the last batch, and no fewer than wait.
func (d *Demand) Next(last *Batch, used, waiting int64, now time.Duration) int64 {
	elapsed := max(now-d.last, time.Microsecond)
	// A rate by few tokens is not known well, so a batch has at most four times as many.
	expected := min(float64(used)*float64(last.span(now, d.For))/float64(elapsed), 4*float64(used), float64(d.Most))
	d.last = now
	return max(min(max(int64(expected), waiting+1), d.Most, last.share), 1)
}
