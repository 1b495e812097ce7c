package decide

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

// A Keeper renews and releases leases. It has one timer, and at most one call under way for each node.
type Keeper struct {
	// Do makes the calls of a node, which sets their results.
	Do func(node string, calls []LeaseCall)
	// Local is set if the places are in an engine of this process.
	Local bool
	// Background runs work outside of the request.
	Background func(func())

	mu     sync.Mutex
	leases leaseQueue
	timer  *time.Timer
	wakes  monotime.Time       // when the timer fires; 0 while it is stopped
	nodes  map[string][]*Lease // that wait for a call; a node is present while a goroutine serves it
	closed bool
}

// Hold returns the lease on places that a call charged, which was sent at a time. If it is kept and the places are lost, because a
// renewal found them gone or none succeeded in time, it calls lost.
func (k *Keeper) Hold(p Places, sent monotime.Time, lost func()) *Lease {
	return &Lease{Places: p, keeper: k, begin: sent, position: -1, lost: lost}
}

// Drop releases places of a call whose outcome is unknown, and refuses it if it has not arrived.
func (k *Keeper) Drop(p Places, sent monotime.Time) {
	l := k.Hold(p, sent, func() {})
	l.stray = true
	l.Release()
}

// Close ends all renewals. Places that are not released stay until their leases end.
func (k *Keeper) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.leases = nil
	if k.timer != nil {
		k.timer.Stop()
	}
}

// queue makes the call of a lease at a time.
func (k *Keeper) queue(l *Lease, due monotime.Time) {
	if k.closed {
		return
	}
	l.due = due
	heap.Push(&k.leases, l)
	k.setTimer(monotime.Now())
}

func (k *Keeper) unqueue(l *Lease) {
	if l.position >= 0 && !k.closed {
		heap.Remove(&k.leases, l.position)
	}
}

// setTimer sets the timer for the first lease.
func (k *Keeper) setTimer(now monotime.Time) {
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

func (k *Keeper) wake() { k.Wake(monotime.Now()) }

// Wake sends all leases that are due by a time. The keeper's timer does so; tests look ahead.
func (k *Keeper) Wake(now monotime.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wakes = 0
	for len(k.leases) > 0 && k.leases[0].due <= now.Add(k.leases[0].Places.Lease/together) {
		k.send(heap.Pop(&k.leases).(*Lease))
	}
	k.setTimer(monotime.Now())
}

// send makes the call of a lease, after those of its node that are under way.
func (k *Keeper) send(l *Lease) {
	l.calling = true
	waiting, serving := k.nodes[l.Node]
	if k.nodes == nil {
		k.nodes = map[string][]*Lease{}
	}
	k.nodes[l.Node] = append(waiting, l)
	if !serving {
		k.Background(func() { k.serve(l.Node) })
	}
}

// serve makes the calls of a node until none waits.
func (k *Keeper) serve(node string) {
	for {
		calls := k.next(node)
		if calls == nil {
			return
		}
		sent := monotime.Now()
		k.Do(node, calls)
		k.settle(calls, sent)
	}
}

func (k *Keeper) next(node string) []LeaseCall {
	k.mu.Lock()
	defer k.mu.Unlock()
	waiting := k.nodes[node]
	if len(waiting) == 0 {
		delete(k.nodes, node)
		return nil
	}
	n := min(len(waiting), maxBatch)
	calls := make([]LeaseCall, n)
	for i, l := range waiting[:n] {
		calls[i] = LeaseCall{Lease: l, Release: l.released}
	}
	k.nodes[node] = append([]*Lease(nil), waiting[n:]...)
	return calls
}

// settle applies the results of calls that were sent at a time.
func (k *Keeper) settle(calls []LeaseCall, sent monotime.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := monotime.Now()
	for i := range calls {
		c := &calls[i]
		l := c.Lease
		l.calling = false
		switch over := now >= l.ends(); {
		case c.Release && (c.Err == nil || over): // without an answer, the lease has ended by itself
		case c.Release:
			k.queue(l, now.Add(l.Places.Lease/retries))
		case l.released: // meanwhile
			k.send(l)
		case c.Err == nil && !c.Lost:
			l.begin = sent
			k.queue(l, sent.Add(l.Places.Lease/renewals))
		case c.Err == nil || over:
			l.lost()
		default:
			k.queue(l, min(now.Add(l.Places.Lease/retries), l.ends()))
		}
	}
}

// retries is how often a call that failed is repeated in the time of a lease.
const retries = 10

// A leaseQueue is a heap of leases by the time of their next call.
type leaseQueue []*Lease

func (q leaseQueue) Len() int           { return len(q) }
func (q leaseQueue) Less(i, j int) bool { return q[i].due < q[j].due }

func (q leaseQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].position, q[j].position = i, j
}

// Push adds a lease.
func (q *leaseQueue) Push(x any) {
	l := x.(*Lease)
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
