package prefetch

import (
	"sync/atomic"
	"time"
)

// A batch holds the tokens of one call, or how long a refusal holds.
type batch struct {
	left    atomic.Int64 // below 0 when more was asked for, and once the batch is closed
	taken   int64
	ends    time.Duration // tokens are used before this time
	retry   time.Duration // when there may be a token; 0 unless refused
	room    int64         // what the limit had left after the call
	expires time.Time     // of a refund, by the server's clock
}

const closed = -1 << 60

func (b *batch) take() bool { return b.left.Load() > 0 && b.left.Add(-1) >= 0 }

// close ends a batch, and returns how many of its tokens were used and how many were not. A second call returns none.
func (b *batch) close() (used, unused int64) {
	left := b.left.Swap(closed)
	if left <= closed/2 {
		return b.taken, 0
	}
	unused = max(left, 0)
	return b.taken - unused, unused
}
