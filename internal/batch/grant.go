// Package batch sizes batches of tokens and hands them out. It neither calls Redis nor reads a clock.
package batch

import (
	"math"
	"time"
)

// A Grant is what one call took of a limit, by the server's answer.
type Grant struct {
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
func (g Grant) OfBucket(interval, bound time.Duration) Grant {
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
func (g Grant) OfWindow() Grant {
	g.usable = g.Reset - time.Millisecond // the server decided after the call began, and its window ends with a millisecond
	g.next, g.window = g.Reset, true
	g.share = g.Remaining / 4 // other processes gain nothing until the window ends
	return g
}
