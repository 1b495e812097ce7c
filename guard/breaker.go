package guard

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// breakers are the circuit breakers of Redis nodes. A breaker opens if at least half of the calls of the last second were lost.
type breakers struct {
	minLost  int           // the fewest lost calls that open a breaker
	openFor  time.Duration // how long a breaker stays open before a trial call
	onChange func(node string, open bool)

	standalone breaker
	nodes      sync.Map // node name to *breaker
}

// halfWindow is half of the time in which calls count.
const halfWindow = monotime.Time(time.Second / 2)

// A breaker is the circuit breaker of one node. While it is closed, a call reads one word and adds to another.
type breaker struct {
	openedAt     atomic.Int64 // 0 while closed
	trialRunning atomic.Bool

	mu      sync.Mutex // guards the change of halves
	beganAt atomic.Int64
	halves  [2]struct{ calls, lost atomic.Int64 } // the current half window and the previous one
}

func (bs *breakers) of(node string) *breaker {
	if node == "" {
		return &bs.standalone
	}
	if b, ok := bs.nodes.Load(node); ok {
		return b.(*breaker)
	}
	b, _ := bs.nodes.LoadOrStore(node, new(breaker))
	return b.(*breaker)
}

// A permit allows one call to a node.
type permit struct {
	breakers *breakers
	node     string
	breaker  *breaker
	trial    bool // the call tests whether the node answers again
}

// allow returns a permit, unless the node's breaker is open. The caller reports the call's result by Done, or by Abandon.
func (bs *breakers) allow(node string) (permit, bool) {
	b := bs.of(node)
	p := permit{breakers: bs, node: node, breaker: b}
	openedAt := b.openedAt.Load()
	if openedAt == 0 {
		return p, true
	}
	p.trial = monotime.Now().Since(monotime.Time(openedAt)) >= bs.openFor && b.trialRunning.CompareAndSwap(false, true)
	return p, p.trial
}

// done reports the result of a call. The zero permit ignores it.
func (p permit) done(err error) {
	if p.breakers == nil {
		return
	}
	if p.trial {
		p.finishTrial(err)
		return
	}
	b, now := p.breaker, p.breaker.current()
	now.calls.Add(1)
	if !serverLost(err) {
		return
	}
	now.lost.Add(1)
	calls, lost := b.totals()
	if lost >= int64(p.breakers.minLost) && 2*lost >= calls && b.openedAt.CompareAndSwap(0, int64(monotime.Now())) {
		p.breakers.onChange(p.node, true)
	}
}

// finishTrial closes the breaker if the trial call was answered. Otherwise the breaker stays open for another period.
func (p permit) finishTrial(err error) {
	b := p.breaker
	if serverLost(err) {
		b.openedAt.Store(int64(monotime.Now()))
	} else {
		b.mu.Lock()
		for i := range b.halves {
			b.halves[i].calls.Store(0)
			b.halves[i].lost.Store(0)
		}
		b.mu.Unlock()
		b.openedAt.Store(0)
		p.breakers.onChange(p.node, false)
	}
	b.trialRunning.Store(false)
}

// current returns the current half window.
func (b *breaker) current() *struct{ calls, lost atomic.Int64 } {
	if past := monotime.Now() - monotime.Time(b.beganAt.Load()); past < halfWindow {
		return &b.halves[0]
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	past := monotime.Now() - monotime.Time(b.beganAt.Load())
	if past < halfWindow {
		return &b.halves[0]
	}
	for _, of := range []struct{ to, from *atomic.Int64 }{{&b.halves[1].calls, &b.halves[0].calls}, {&b.halves[1].lost, &b.halves[0].lost}} {
		n := of.from.Swap(0)
		if past >= 2*halfWindow {
			n = 0
		}
		of.to.Store(n)
	}
	b.beganAt.Store(int64(monotime.Now()))
	return &b.halves[0]
}

func (b *breaker) totals() (calls, lost int64) {
	for i := range b.halves {
		calls, lost = calls+b.halves[i].calls.Load(), lost+b.halves[i].lost.Load()
	}
	return calls, lost
}
