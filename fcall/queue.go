package fcall

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	maxDirect  = 4   // calls in flight to a node up to which each has its own round trip
	roundTrips = 2   // round trips in flight to a node beyond maxDirect calls
	maxShared  = 256 // calls in one round trip
)

// A nodeQueue holds the calls to one node. A call is sent at once while few are in flight. Further calls wait for a round trip to end and
// share the next one. There is no goroutine that sends: the caller of one of the calls sends them all, and then makes the next round trip
// that of a caller that waits: handing a lone call to a goroutine that sends took it twice as long.
type nodeQueue struct {
	transport *transport
	inFlight  atomic.Int32 // calls without an answer

	mu    sync.Mutex
	queue []redis.Cmder // each a *command
	busy  int           // round trips in flight
	idle  []*round      // for reuse
}

// A round is one round trip.
type round struct {
	calls  []redis.Cmder
	leader *command        // whose caller sends the calls; nil if a goroutine of their own does
	pipe   redis.Pipeliner // nil until calls share it
}

// send sends a call, by itself or with others, and waits for its reply until its context ends.
func (q *nodeQueue) send(ctx context.Context, cmd *command) (late bool) {
	cmd.ctx, cmd.bounded, cmd.lead = ctx, q.transport.endsInTime(ctx), leads.Get().(chan *round)
	q.inFlight.Add(1)
	q.mu.Lock()
	q.queue = append(q.queue, cmd)
	r := q.begin()
	if r != nil && r.leader != cmd {
		q.start(r)
		r = nil
	}
	q.mu.Unlock()
	if r == nil {
		select {
		case r = <-cmd.lead:
		case <-ctx.Done():
			if q.withdraw(cmd) {
				return true
			}
			select {
			case r = <-cmd.lead: // prefer the answer to the end of the context
			default:
				return true
			}
		}
	}
	if r != nil {
		q.run(r)
	}
	leads.Put(cmd.lead)
	return false
}

// leads tell callers that their calls have ended, by nil, or which round trip is theirs to make. That of a late call is not reused.
var leads = sync.Pool{New: func() any { return make(chan *round, 1) }}

// withdraw removes a call that was not sent yet.
func (q *nodeQueue) withdraw(cmd *command) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.queue, redis.Cmder(cmd))
	if i < 0 {
		return false
	}
	q.queue = slices.Delete(q.queue, i, i+1)
	q.inFlight.Add(-1)
	cmd.withdrawn = true
	return true
}

// portion returns how many of the waiting calls a round trip may take that begins now.
func (q *nodeQueue) portion() int {
	waiting, inFlight := len(q.queue), int(q.inFlight.Load())
	switch {
	case waiting == 0:
		return 0
	case q.transport.pipeline == nil:
		return 1
	case q.transport.sharingPaused():
		if q.busy < maxDirect {
			return 1 + waiting/maxDirect
		}
	case inFlight <= maxDirect:
		return 1
	case q.busy == 0 || q.busy < roundTrips && 4*waiting >= inFlight: // else the rest arrive when the round trip in flight ends
		return min(waiting, maxShared)
	}
	return 0
}

// begin takes the calls of a round trip, or returns nil if none may begin. The queue is locked.
func (q *nodeQueue) begin() *round {
	n := q.portion()
	if n == 0 {
		return nil
	}
	var r *round
	if last := len(q.idle) - 1; last >= 0 {
		r, q.idle = q.idle[last], q.idle[:last]
	} else {
		r = new(round)
	}
	r.calls = append(r.calls[:0], q.queue[:n]...)
	q.queue = slices.Delete(q.queue, 0, n)
	q.busy++
	r.leader = leaderOf(r.calls)
	return r
}

// leaderOf returns the call whose context ends last, so that its caller is not held up longer than its own call would. It returns nil if
// the context of a call may end earlier than the round trip.
func leaderOf(calls []redis.Cmder) (leader *command) {
	var latest time.Time
	for _, cmd := range calls {
		c := cmd.(*command)
		if !c.bounded {
			return nil
		}
		if len(calls) == 1 {
			return c
		}
		deadline, ok := c.ctx.Deadline()
		if !ok {
			return c
		}
		if leader == nil || deadline.After(latest) {
			leader, latest = c, deadline
		}
	}
	return leader
}

// start makes a round trip in another goroutine: that of its leader, which waits. The queue is locked.
func (q *nodeQueue) start(r *round) {
	if r.leader != nil {
		r.leader.lead <- r
	} else {
		go q.run(r)
	}
}

// run makes a round trip, and starts the next.
func (q *nodeQueue) run(r *round) {
	q.exchange(r)
	if len(r.calls) == 1 {
		cmd, leader := r.calls[0].(*command), r.leader
		q.end(r) // before its caller returns, whose next call may need it
		if cmd != leader {
			cmd.lead <- nil
		}
		return
	}
	for _, cmd := range r.calls {
		if c := cmd.(*command); c != r.leader {
			c.lead <- nil
		}
	}
	runtime.Gosched() // the next calls of these callers share a round trip
	q.end(r)
}

// end starts what may begin after a round trip.
func (q *nodeQueue) end(r *round) {
	q.inFlight.Add(-int32(len(r.calls)))
	clear(r.calls)
	r.leader = nil
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy--
	q.idle = append(q.idle, r)
	for next := q.begin(); next != nil; next = q.begin() {
		q.start(next)
	}
}

// exchange sends the calls of a round trip. It recovers from a panic of a hook, because other callers wait.
func (q *nodeQueue) exchange(r *round) {
	var err error
	defer func() {
		if p := recover(); p != nil {
			err, r.pipe = fmt.Errorf("send a call: panic: %v", p), nil
		}
		for _, cmd := range r.calls {
			c := cmd.(*command)
			if c.Err() == nil && c.Val() == nil { // a hook has neither sent it nor answered
				if err == nil {
					err = errNotExecuted
				}
				c.SetErr(err)
			}
			if err := c.Err(); err != nil {
				q.transport.noteDial(err) // also of calls whose callers have left
			}
		}
	}()
	if len(r.calls) == 1 {
		cmd := r.calls[0].(*command)
		err = process(cmd.ctx, q.transport.caller, cmd)
		return
	}
	for _, cmd := range r.calls {
		cmd.(*command).shared = true
	}
	if r.pipe == nil {
		r.pipe = q.transport.pipeline()
	}
	ctx, cancel := shared(r.calls)
	defer cancel()
	_ = r.pipe.BatchProcess(ctx, r.calls...)
	_, err = r.pipe.Exec(ctx)
}

// shared returns the context of a round trip: it has the values of its first call and ends with the latest of all deadlines, if each has
// one. Until then the client waits for a connection and keeps it. That one of the callers leaves does not end it.
func shared(calls []redis.Cmder) (context.Context, context.CancelFunc) {
	ctx, latest := context.WithoutCancel(calls[0].(*command).ctx), time.Time{}
	for _, cmd := range calls {
		deadline, ok := cmd.(*command).ctx.Deadline()
		if !ok {
			return ctx, func() {}
		}
		if deadline.After(latest) {
			latest = deadline
		}
	}
	return context.WithDeadline(ctx, latest)
}
