package fallback

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/guard/internal/moment"
)

// ErrBreaker is a node of Redis that is left alone for a while, as too many of its calls were lost.
var ErrBreaker = errors.New("redis is left alone")

// Breakers leave nodes of Redis alone, each for itself, while at least half of the calls of the last second were lost.
type Breakers struct {
	After   int           // so many at least
	For     time.Duration // how long, before one call tries again
	Changed func(node string, open bool)

	only  breaker  // of the node that has no name
	nodes sync.Map // of a node's name to *breaker
}

// span is half of the time that counts.
const span = moment.Moment(time.Second / 2)

// A breaker of one node. While it is closed a call reads one word, and adds to another.
type breaker struct {
	opened atomic.Int64 // when, of an open one; 0 when closed
	trying atomic.Bool  // a call tries again

	mu    sync.Mutex // guards the change of spans
	begin atomic.Int64
	spans [2]struct{ calls, lost atomic.Int64 } // the present half, and the one before
}

func (bs *Breakers) of(node string) *breaker {
	if node == "" {
		return &bs.only
	}
	if b, ok := bs.nodes.Load(node); ok {
		return b.(*breaker)
	}
	b, _ := bs.nodes.LoadOrStore(node, new(breaker))
	return b.(*breaker)
}

// A Pass lets one call through to a node.
type Pass struct {
	of    *Breakers
	node  string
	at    *breaker
	tries bool // whether the node answers again
}

// Allow reports whether a node may be asked. The caller of one that may says what came of it, by Done.
func (bs *Breakers) Allow(node string) (Pass, bool) {
	b := bs.of(node)
	p := Pass{of: bs, node: node, at: b}
	opened := b.opened.Load()
	if opened == 0 {
		return p, true
	}
	p.tries = moment.Now().Since(moment.Moment(opened)) >= bs.For && b.trying.CompareAndSwap(false, true)
	return p, p.tries
}

// Done says what came of a call. The zero Pass is of a call that was not made.
func (p Pass) Done(err error) {
	if p.of == nil {
		return
	}
	if p.tries {
		p.tried(err)
		return
	}
	b, now := p.at, p.at.now()
	now.calls.Add(1)
	if !lostServer(err) {
		return
	}
	now.lost.Add(1)
	calls, lost := b.counts()
	if lost >= int64(p.of.After) && 2*lost >= calls && b.opened.CompareAndSwap(0, int64(moment.Now())) {
		p.of.Changed(p.node, true)
	}
}

// GaveUp says that the request left before anything came of a call.
func (p Pass) GaveUp() {
	if p.tries {
		p.at.trying.Store(false)
	}
}

// tried closes an open breaker if a call was answered. Without an answer the node is left alone for longer.
func (p Pass) tried(err error) {
	b := p.at
	if lostServer(err) {
		b.opened.Store(int64(moment.Now()))
	} else {
		b.mu.Lock()
		for i := range b.spans {
			b.spans[i].calls.Store(0)
			b.spans[i].lost.Store(0)
		}
		b.mu.Unlock()
		b.opened.Store(0)
		p.of.Changed(p.node, false)
	}
	b.trying.Store(false)
}

// now is the present half second.
func (b *breaker) now() *struct{ calls, lost atomic.Int64 } {
	if past := moment.Now() - moment.Moment(b.begin.Load()); past < span {
		return &b.spans[0]
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	past := moment.Now() - moment.Moment(b.begin.Load())
	if past < span {
		return &b.spans[0]
	}
	for _, of := range []struct{ to, from *atomic.Int64 }{{&b.spans[1].calls, &b.spans[0].calls}, {&b.spans[1].lost, &b.spans[0].lost}} {
		n := of.from.Swap(0)
		if past >= 2*span {
			n = 0
		}
		of.to.Store(n)
	}
	b.begin.Store(int64(moment.Now()))
	return &b.spans[0]
}

func (b *breaker) counts() (calls, lost int64) {
	for i := range b.spans {
		calls, lost = calls+b.spans[i].calls.Load(), lost+b.spans[i].lost.Load()
	}
	return calls, lost
}
