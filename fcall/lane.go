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
	fewCalls   = 4           // up to this many calls to a node at once, each has a round trip of its own
	roundTrips = 2           // how many round trips to a node at once, when more calls than that are under way
	mostShared = 256         // how many calls share a round trip at most
	idleFor    = time.Second // how long a sender waits for the next call before it ends
)

// A lane takes the calls to one node. Its senders send them, so that a caller can leave when its context ends. A call goes out at once while
// few are under way; those beyond that wait for a round trip to end, and share the next one.
type lane struct {
	engine   *engine
	underway atomic.Int32 // calls without an answer so far, also those that their callers send

	mu     sync.Mutex
	queue  []redis.Cmder // each a *command
	busy   int           // senders that send, or are about to
	parked []*sender
}

// send has a call sent, and waits no longer than its context lasts. Of a late call only abandon may be used.
func (l *lane) send(ctx context.Context, cmd *command) (late bool) {
	cmd.ctx, cmd.done, cmd.queued = ctx, dones.Get().(chan struct{}), true
	l.mu.Lock()
	l.queue = append(l.queue, cmd)
	if l.busy < l.most() && l.worthwhile() {
		l.busy++
		l.rouse()
	}
	l.mu.Unlock()
	one, other := leave(ctx)
	select {
	case <-cmd.done:
		dones.Put(cmd.done)
		return false
	case <-one:
	case <-other:
	}
	select {
	case <-cmd.done: // an answer is worth more than the end of the context
		dones.Put(cmd.done)
		return false
	default:
		l.withdraw(cmd)
		return true
	}
}

// withdraw keeps a call from being sent if it was not so far.
func (l *lane) withdraw(cmd *command) {
	l.mu.Lock()
	defer l.mu.Unlock()
	cmd.withdrawn, cmd.queued = cmd.queued, false
	for len(l.queue) > 0 && !l.queue[0].(*command).queued { // while senders wait for a node that is gone, the queue holds no more than they will send
		l.queue[0] = nil
		l.queue = l.queue[1:]
		l.underway.Add(-1)
	}
}

// dones are how callers learn that their calls have ended. The one of a late call is not used again.
var dones = sync.Pool{New: func() any { return make(chan struct{}, 1) }}

// most is how many senders may be busy.
func (l *lane) most() int {
	switch {
	case l.engine.pipeline == nil:
		return l.busy + 1
	case l.engine.doubtful():
		return aloneMost
	case l.underway.Load() <= fewCalls:
		return fewCalls
	}
	return roundTrips
}

// worthwhile reports whether a further round trip may begin. While many calls are under way it is for a quarter of them at least: the rest
// come as soon as the one before has ended.
func (l *lane) worthwhile() bool {
	many := l.engine.pipeline != nil && l.busy > 0 && !l.engine.doubtful()
	return !many || l.underway.Load() <= fewCalls || 4*len(l.queue) >= int(l.underway.Load())
}

// portion is how many calls a sender takes.
func (l *lane) portion() int {
	switch {
	case l.engine.pipeline == nil, l.underway.Load() <= fewCalls: // each has a sender
		return 1
	case l.engine.doubtful():
		return 1 + len(l.queue)/aloneMost
	}
	return mostShared
}

// rouse has a sender take calls. The lane is locked.
func (l *lane) rouse() {
	last := len(l.parked) - 1
	if last < 0 {
		go (&sender{lane: l, wake: make(chan struct{}, 1)}).run()
		return
	}
	s := l.parked[last]
	l.parked = l.parked[:last]
	s.wake <- struct{}{}
}

// take returns the calls that a sender sends next. If there are none the sender is parked.
func (l *lane) take(s *sender) []redis.Cmder {
	s.calls = s.calls[:0]
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) > 0 && len(s.calls) == 0 && l.busy <= l.most() {
		n := min(len(l.queue), l.portion())
		for _, cmd := range l.queue[:n] {
			if c := cmd.(*command); c.queued {
				c.queued = false
				s.calls = append(s.calls, cmd)
			} else {
				l.underway.Add(-1) // it was withdrawn
			}
		}
		l.queue = slices.Delete(l.queue, 0, n)
	}
	if len(s.calls) == 0 {
		l.park(s)
	}
	return s.calls
}

// rest parks a sender if there is nothing to send.
func (l *lane) rest(s *sender) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) > 0 {
		return false
	}
	l.park(s)
	return true
}

func (l *lane) park(s *sender) {
	l.busy--
	l.parked = append(l.parked, s)
}

// leave ends a parked sender, and returns false if it has just been roused.
func (l *lane) leave(s *sender) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.parked, s)
	if i < 0 {
		return false
	}
	l.parked = slices.Delete(l.parked, i, i+1)
	return true
}

// A sender is a goroutine of a lane. It ends when there was nothing to send for a while.
type sender struct {
	lane  *lane
	wake  chan struct{}
	calls []redis.Cmder
	pipe  redis.Pipeliner // nil until calls share a round trip
}

func (s *sender) run() {
	idle := time.NewTimer(idleFor)
	defer idle.Stop()
	for {
		if len(s.lane.take(s)) > 0 {
			s.exchange()
			lone := len(s.calls) == 1
			rests := lone && s.lane.rest(s) // before its caller goes on, whose next call needs no other sender
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
			if s.lane.leave(s) {
				return
			}
			<-s.wake
		}
	}
}

// exchange sends calls and has their callers go on. What panics is a hook, of which the callers cannot recover here.
func (s *sender) exchange() {
	var err error
	defer func() {
		if p := recover(); p != nil {
			err, s.pipe = fmt.Errorf("send a call: panic: %v", p), nil
		}
		s.lane.underway.Add(-int32(len(s.calls)))
		for _, cmd := range s.calls {
			c := cmd.(*command)
			if c.Err() == nil && c.Val() == nil { // a hook has neither sent it nor answered
				if err == nil {
					err = errNotExecuted
				}
				c.SetErr(err)
			}
		}
	}()
	if len(s.calls) == 1 {
		cmd := s.calls[0].(*command)
		err = process(cmd.ctx, s.lane.engine.caller, cmd)
		return
	}
	if s.pipe == nil {
		s.pipe = s.lane.engine.pipeline()
	}
	ctx := shared(s.calls)
	_ = s.pipe.BatchProcess(ctx, s.calls...)
	_, err = s.pipe.Exec(ctx)
}

// A sharedContext has the values of the first call of a round trip, no end, and the last of all deadlines: that is how long
// a client with ContextTimeoutEnabled keeps the connection.
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
