package fcall

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/redis/go-redis/v9"
)

const (
	aloneFor  = time.Second // how long calls go out by themselves after one that got no answer
	aloneMost = 32          // how many of them at once to a node; more than that share round trips all the same
)

// An engine sends the calls of all fcall.Clients over one Caller. It holds no goroutine but while there is something to send.
//
// A connection that breaks makes the outcome of every call of a round trip unknown. So after a call that got no answer, calls go
// out by themselves for a second, up to 32 at once to each node: what is lost then is the outcome of single calls, and a node that
// does not answer holds up no call for another one.
type engine struct {
	caller   Caller
	pipeline func() redis.Pipeliner // nil: every call has a round trip of its own
	bounded  bool                   // the caller holds a context's deadline by itself
	slots    slotted                // nil unless the caller is a cluster's
	few      int32                  // so many calls to a node may be sent by their callers
	answered atomic.Bool            // by now the caller knows the cluster's slots
	only     lane                   // to the one node, or to all while the slots are not known
	lanes    sync.Map               // of a node's address to *lane
	alone    atomic.Int64           // until when calls go out by themselves, in nanoseconds since start
}

var start = time.Now() // of the monotonic clock

// engines are those that clients share, each for as long as a client has it or calls are under way.
var engines struct {
	sync.Mutex
	of map[Caller]weak.Pointer[engine]
}

// engineOf returns the engine of a caller. Its clients share it, with those of other libraries, if their calls share round trips.
func engineOf(caller Caller, sharing bool) *engine {
	if maker, ok := caller.(interface{ Pipeline() redis.Pipeliner }); ok && sharing {
		switch caller.(type) {
		case *redis.Client, *redis.ClusterClient:
			return sharedEngine(caller, maker.Pipeline)
		}
	}
	return newEngine(caller, nil)
}

func sharedEngine(caller Caller, pipeline func() redis.Pipeliner) *engine {
	engines.Lock()
	defer engines.Unlock()
	if e := engines.of[caller].Value(); e != nil {
		return e
	}
	e := newEngine(caller, pipeline)
	if engines.of == nil {
		engines.of = map[Caller]weak.Pointer[engine]{}
	}
	engines.of[caller] = weak.Make(e)
	runtime.AddCleanup(e, func(caller Caller) {
		engines.Lock()
		defer engines.Unlock()
		if engines.of[caller].Value() == nil {
			delete(engines.of, caller)
		}
	}, caller)
	return e
}

func newEngine(caller Caller, pipeline func() redis.Pipeliner) *engine {
	e := &engine{caller: caller, pipeline: pipeline, few: fewCalls}
	e.only.engine = e
	switch c := caller.(type) {
	case *redis.Client:
		e.bounded = c.Options().ContextTimeoutEnabled
	case *redis.Ring:
		e.bounded = c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		e.bounded = c.Options().ContextTimeoutEnabled
		e.slots = c
	}
	return e
}

// send sends a call and waits for its reply, but no longer than the context lasts. A late call is still under way, and must not be touched.
func (e *engine) send(ctx context.Context, cmd *command) result {
	l := e.laneOf(ctx, cmd)
	if n := l.underway.Add(1); e.endsInTime(ctx) && (e.pipeline == nil || n <= e.few || n <= aloneMost && e.doubtful()) {
		defer l.underway.Add(-1)
		_ = process(ctx, e.caller, cmd)
	} else if late := l.send(ctx, cmd); late {
		return cmd.late(ctx)
	}
	r := cmd.result(cmd.Err())
	if r.err == nil && !e.answered.Load() {
		e.answered.Store(true)
	}
	return r
}

// soon is how far away a deadline may be of a call that its caller sends: nothing interrupts such a call when its context is cancelled.
const soon = 100 * time.Millisecond

// endsInTime reports whether a call that its caller sends ends with its context, or very soon after it.
func (e *engine) endsInTime(ctx context.Context) bool {
	if _, leaves := ctx.(Leaver); leaves {
		return false
	}
	if ctx.Done() == nil {
		return true
	}
	if !e.bounded || e.slots != nil && !e.answered.Load() {
		return false
	}
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= soon
}

// laneOf returns the lane to the node that serves a call's first key.
func (e *engine) laneOf(ctx context.Context, cmd *command) *lane {
	if e.slots == nil || !e.answered.Load() {
		return &e.only
	}
	key, ok := firstKey(cmd.Cmd.Args())
	if !ok {
		return &e.only
	}
	node, err := e.slots.MasterForKey(ctx, key) // does not ask, as the slots are known
	if err != nil {
		return &e.only
	}
	address := node.Options().Addr
	found, ok := e.lanes.Load(address)
	if !ok {
		found, _ = e.lanes.LoadOrStore(address, &lane{engine: e})
	}
	return found.(*lane)
}

func (e *engine) doubtful() bool {
	until := e.alone.Load()
	return until != 0 && time.Since(start) < time.Duration(until)
}

func (e *engine) doubt() { e.alone.Store(int64(time.Since(start) + aloneFor)) }

// A mapped Caller knows which node has which slots: a *redis.ClusterClient. It asks each minute, and when a node says MOVED;
// a primary that died says nothing, and all calls to its slots would fail until then, although a replica has taken over.
type mapped interface {
	// ReloadState asks in the background, five times a second at most, however often it is called.
	ReloadState(ctx context.Context)
}

// doubt is called after each failure. If a node's end would explain it, the slots are looked up, and calls share no round trips
// for a while.
func (c *Client) doubt(ctx context.Context, err error) {
	var unavailable *UnavailableError
	var lost *OutcomeError
	switch {
	case errors.As(err, &lost) && lost.Code == "":
	case errors.As(err, &unavailable) && (unavailable.Code == "" || unavailable.Code == "CLUSTERDOWN"):
	default:
		return
	}
	c.engine.doubt()
	if m, ok := c.caller.(mapped); ok {
		m.ReloadState(context.WithoutCancel(ctx))
	}
}
