package guard

import (
	"container/heap"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// renewals is how many calls try to renew a lease before it ends.
const renewals = 3

// together is the part of a lease by which its call may come early, to share a round trip.
const together = 30

// maxBatch is the most calls that share a round trip.
const maxBatch = 64

// A keeper renews and releases leases. It has one timer, and at most one call under way for each node.
type keeper struct {
	// do makes the calls of a node, which sets their results.
	do func(node string, calls []leaseCall)
	// local is set if the places are in an engine of this process.
	local bool
	// background runs work outside of the request.
	background func(func())

	mu     sync.Mutex
	leases leaseQueue
	timer  *time.Timer
	wakes  monotime.Time       // when the timer fires; 0 while it is stopped
	nodes  map[string][]*lease // that wait for a call; a node is present while a goroutine serves it
	closed bool
}

// hold returns the lease on places that a call charged, which was sent at a time. If it is kept and the places are lost, because a
// renewal found them gone or none succeeded in time, it calls lost.
func (k *keeper) hold(p places, sent monotime.Time, lost func()) *lease {
	return &lease{places: p, keeper: k, begin: sent, position: -1, lost: lost}
}

// drop releases places of a call whose outcome is unknown, and refuses it if it has not arrived.
func (k *keeper) drop(p places, sent monotime.Time) {
	l := k.hold(p, sent, func() {})
	l.stray = true
	l.release()
}

// close ends all renewals. Places that are not released stay until their leases end.
func (k *keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.leases = nil
	if k.timer != nil {
		k.timer.Stop()
	}
}

// queue makes the call of a lease at a time.
func (k *keeper) queue(l *lease, due monotime.Time) {
	if k.closed {
		return
	}
	l.due = due
	heap.Push(&k.leases, l)
	k.setTimer(monotime.Now())
}

func (k *keeper) unqueue(l *lease) {
	if l.position >= 0 && !k.closed {
		heap.Remove(&k.leases, l.position)
	}
}

// setTimer sets the timer for the first lease.
func (k *keeper) setTimer(now monotime.Time) {
	if len(k.leases) == 0 || k.wakes != 0 && k.wakes <= k.leases[0].due {
		return
	}
	k.wakes = k.leases[0].due
	wait := k.wakes.Since(now)
	if k.timer == nil {
		k.timer = time.AfterFunc(wait, k.wake)
	} else {
		k.timer.Reset(wait)
	}
}

func (k *keeper) wake() { k.wakeAt(monotime.Now()) }

// wakeAt sends all leases that are due by a time. The keeper's timer does so; tests look ahead.
func (k *keeper) wakeAt(now monotime.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wakes = 0
	for len(k.leases) > 0 && k.leases[0].due <= now.Add(k.leases[0].places.Lease/together) {
		k.send(heap.Pop(&k.leases).(*lease))
	}
	k.setTimer(monotime.Now())
}

// send makes the call of a lease, after those of its node that are under way.
func (k *keeper) send(l *lease) {
	l.calling = true
	waiting, serving := k.nodes[l.Node]
	if k.nodes == nil {
		k.nodes = map[string][]*lease{}
	}
	k.nodes[l.Node] = append(waiting, l)
	if !serving {
		k.background(func() { k.serve(l.Node) })
	}
}

// serve makes the calls of a node until none waits.
func (k *keeper) serve(node string) {
	for {
		calls := k.next(node)
		if calls == nil {
			return
		}
		sent := monotime.Now()
		k.do(node, calls)
		k.settle(calls, sent)
	}
}

func (k *keeper) next(node string) []leaseCall {
	k.mu.Lock()
	defer k.mu.Unlock()
	waiting := k.nodes[node]
	if len(waiting) == 0 {
		delete(k.nodes, node)
		return nil
	}
	n := min(len(waiting), maxBatch)
	calls := make([]leaseCall, n)
	for i, l := range waiting[:n] {
		calls[i] = leaseCall{lease: l, release: l.released}
	}
	k.nodes[node] = append([]*lease(nil), waiting[n:]...)
	return calls
}

// settle applies the results of calls that were sent at a time.
func (k *keeper) settle(calls []leaseCall, sent monotime.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := monotime.Now()
	for i := range calls {
		c := &calls[i]
		l := c.lease
		l.calling = false
		switch over := now >= l.ends(); {
		case c.release && (c.err == nil || over): // without an answer, the lease has ended by itself
		case c.release:
			k.queue(l, now.Add(l.places.Lease/retries))
		case l.released: // meanwhile
			k.send(l)
		case c.err == nil && !c.lost:
			l.begin = sent
			k.queue(l, sent.Add(l.places.Lease/renewals))
		case c.err == nil || over:
			l.lost()
		default:
			k.queue(l, min(now.Add(l.places.Lease/retries), l.ends()))
		}
	}
}

// retries is how often a call that failed is repeated in the time of a lease.
const retries = 10

// A leaseQueue is a heap of leases by the time of their next call.
type leaseQueue []*lease

func (q leaseQueue) Len() int           { return len(q) }
func (q leaseQueue) Less(i, j int) bool { return q[i].due < q[j].due }

func (q leaseQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].position, q[j].position = i, j
}

// Push adds a lease.
func (q *leaseQueue) Push(x any) {
	l := x.(*lease)
	l.position = len(*q)
	*q = append(*q, l)
}

// Pop removes the last lease.
func (q *leaseQueue) Pop() any {
	last := len(*q) - 1
	l := (*q)[last]
	(*q)[last], *q = nil, (*q)[:last]
	l.position = -1
	return l
}
