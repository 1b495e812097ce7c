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
	maxDirect  = 4           // calls in flight to a node up to which each has its own round trip
	roundTrips = 2           // round trips in flight to a node beyond maxDirect calls
	maxShared  = 256         // calls in one round trip
	idleFor    = time.Second // how long an idle sender lives
)

// A nodeQueue holds the calls to one node. Its senders send them, so a caller can return when its context ends. A call is sent
// at once while few are in flight. Further calls wait for a round trip to end and share the next one.
type nodeQueue struct {
	transport *transport
	inFlight  atomic.Int32 // calls without an answer, including those that callers send

	mu     sync.Mutex
	queue  []redis.Cmder // each a *command
	busy   int           // senders that are sending or about to
	parked []*sender
}

// send queues a call and waits until its context ends. Only abandon may be called on a late call.
func (q *nodeQueue) send(ctx context.Context, cmd *command) (late bool) {
	cmd.ctx, cmd.done, cmd.queued = ctx, dones.Get().(chan struct{}), true
	q.mu.Lock()
	q.queue = append(q.queue, cmd)
	if q.busy < q.most() && q.worthwhile() {
		q.busy++
		q.rouse()
	}
	q.mu.Unlock()
	select {
	case <-cmd.done:
		dones.Put(cmd.done)
		return false
	case <-ctx.Done():
	}
	select {
	case <-cmd.done: // prefer the answer to the end of the context
		dones.Put(cmd.done)
		return false
	default:
		q.withdraw(cmd)
		return true
	}
}

// withdraw removes a call that was not sent yet.
func (q *nodeQueue) withdraw(cmd *command) {
	q.mu.Lock()
	defer q.mu.Unlock()
	cmd.withdrawn, cmd.queued = cmd.queued, false
	for len(q.queue) > 0 && !q.queue[0].(*command).queued { // keeps the queue short while senders wait for a dead node
		q.queue[0] = nil
		q.queue = q.queue[1:]
		q.inFlight.Add(-1)
	}
}

// dones signal callers that their calls have ended. That of a late call is not reused.
var dones = sync.Pool{New: func() any { return make(chan struct{}, 1) }}

// most returns how many senders may be busy.
func (q *nodeQueue) most() int {
	switch {
	case q.transport.pipeline == nil:
		return q.busy + 1
	case q.transport.sharingPaused():
		return maxUnshared
	case q.inFlight.Load() <= maxDirect:
		return maxDirect
	}
	return roundTrips
}

// worthwhile reports whether another round trip may begin. While many calls are in flight it must carry at least a quarter of
// them: the rest arrive when the previous round trip ends.
func (q *nodeQueue) worthwhile() bool {
	many := q.transport.pipeline != nil && q.busy > 0 && !q.transport.sharingPaused()
	return !many || q.inFlight.Load() <= maxDirect || 4*len(q.queue) >= int(q.inFlight.Load())
}

// portion returns how many calls a sender takes.
func (q *nodeQueue) portion() int {
	switch {
	case q.transport.pipeline == nil, q.inFlight.Load() <= maxDirect: // each has a sender
		return 1
	case q.transport.sharingPaused():
		return 1 + len(q.queue)/maxUnshared
	}
	return maxShared
}

// rouse wakes or starts a sender. The queue is locked.
func (q *nodeQueue) rouse() {
	last := len(q.parked) - 1
	if last < 0 {
		go (&sender{queue: q, wake: make(chan struct{}, 1)}).run()
		return
	}
	s := q.parked[last]
	q.parked = q.parked[:last]
	s.wake <- struct{}{}
}

// take returns the calls that a sender sends next. If there are none it parks the sender.
func (q *nodeQueue) take(s *sender) []redis.Cmder {
	s.calls = s.calls[:0]
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.queue) > 0 && len(s.calls) == 0 && q.busy <= q.most() {
		n := min(len(q.queue), q.portion())
		for _, cmd := range q.queue[:n] {
			if c := cmd.(*command); c.queued {
				c.queued = false
				s.calls = append(s.calls, cmd)
			} else {
				q.inFlight.Add(-1) // it was withdrawn
			}
		}
		q.queue = slices.Delete(q.queue, 0, n)
	}
	if len(s.calls) == 0 {
		q.park(s)
	}
	return s.calls
}

// rest parks a sender if the queue is empty.
func (q *nodeQueue) rest(s *sender) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) > 0 {
		return false
	}
	q.park(s)
	return true
}

func (q *nodeQueue) park(s *sender) {
	q.busy--
	q.parked = append(q.parked, s)
}

// unpark removes a parked sender, and reports false if it was woken in between.
func (q *nodeQueue) unpark(s *sender) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.parked, s)
	if i < 0 {
		return false
	}
	q.parked = slices.Delete(q.parked, i, i+1)
	return true
}

// A sender is a goroutine of a nodeQueue. It ends after idleFor without calls.
type sender struct {
	queue *nodeQueue
	wake  chan struct{}
	calls []redis.Cmder
	pipe  redis.Pipeliner // nil until calls share a round trip
}

func (s *sender) run() {
	idle := time.NewTimer(idleFor)
	defer idle.Stop()
	for {
		if len(s.queue.take(s)) > 0 {
			s.exchange()
			lone := len(s.calls) == 1
			rests := lone && s.queue.rest(s) // before its caller returns, whose next call then finds this sender parked
			for _, cmd := range s.calls {
				cmd.(*command).done <- struct{}{}
			}
			clear(s.calls)
			if !lone {
				runtime.Gosched() // the next calls of these callers share a round trip
			}
			if !rests {
				continue
			}
		}
		idle.Reset(idleFor)
		select {
		case <-s.wake:
		case <-idle.C:
			if s.queue.unpark(s) {
				return
			}
			<-s.wake
		}
	}
}

// exchange sends calls. It recovers from a panic of a hook, because the callers' goroutines cannot.
func (s *sender) exchange() {
	var err error
	defer func() {
		if p := recover(); p != nil {
			err, s.pipe = fmt.Errorf("send a call: panic: %v", p), nil
		}
		s.queue.inFlight.Add(-int32(len(s.calls)))
		for _, cmd := range s.calls {
			c := cmd.(*command)
			if c.Err() == nil && c.Val() == nil { // a hook has neither sent it nor answered
				if err == nil {
					err = errNotExecuted
				}
				c.SetErr(err)
			}
			if err := c.Err(); err != nil {
				s.queue.transport.noteDial(err) // also of calls whose callers have left
			}
		}
	}()
	if len(s.calls) == 1 {
		cmd := s.calls[0].(*command)
		err = process(cmd.ctx, s.queue.transport.caller, cmd)
		return
	}
	if s.pipe == nil {
		s.pipe = s.queue.transport.pipeline()
	}
	ctx := shared(s.calls)
	_ = s.pipe.BatchProcess(ctx, s.calls...)
	_, err = s.pipe.Exec(ctx)
}

// A sharedContext has the values of the first call of a round trip, cannot be cancelled, and has the latest of all deadlines: a
// client with ContextTimeoutEnabled keeps the connection until then.
type sharedContext struct {
	context.Context
	deadline time.Time // zero if a call has none
}

func (c sharedContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

func shared(calls []redis.Cmder) context.Context {
	s := sharedContext{Context: context.WithoutCancel(calls[0].(*command).ctx)}
	for _, cmd := range calls {
		deadline, ok := cmd.(*command).ctx.Deadline()
		if !ok {
			s.deadline = time.Time{}
			break
		}
		if deadline.After(s.deadline) {
			s.deadline = deadline
		}
	}
	return s
}
