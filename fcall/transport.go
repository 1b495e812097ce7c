package fcall

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/redis/go-redis/v9"
)

const (
	sharingPause = time.Second // how long calls do not share round trips after one without an answer
	maxUnshared  = 32          // unshared calls in flight to a node; further calls share round trips
)

// A transport sends the calls of all Clients over one Caller. It has no goroutines while there is nothing to send.
//
// A broken connection makes the outcome of every call of its round trip unknown. So for 1 s after a call without an answer,
// calls do not share round trips, up to 32 in flight to each node. Then a failure costs the outcome of single calls, and an
// unresponsive node delays no other call.
type transport struct {
	caller           Caller
	pipeline         func() redis.Pipeliner // nil: calls do not share round trips
	enforcesDeadline bool                   // the caller itself ends a command at its context's deadline
	slots            clusterCaller          // nil unless the caller is a cluster's
	router           router                 // nil unless the caller is an adapter
	maxDirect        int32                  // calls in flight to a node up to which callers send them
	slotsKnown       atomic.Bool            // the caller has learned the cluster's hash slots
	single           nodeQueue              // to the only node, or to all until slotsKnown
	queues           sync.Map               // address to *nodeQueue
	pausedUntil      atomic.Int64           // end of the pause of sharing, in ns since start
	refusedDial      atomic.Pointer[error]  // of the last attempt to connect, until a call is answered
	checked          *transport             // sends calls after a replica has refused one, see connectionCheck
	demoted          atomic.Bool            // a replica has refused a call, and none was answered since
}

var start = time.Now() // for the monotonic clock

// transports are shared by clients, each while a client uses it or a call is in flight.
var transports struct {
	sync.Mutex
	of map[Caller]weak.Pointer[transport]
}

// transportFor returns the transport of a caller. Clients, also of other libraries, share it if their calls share round trips.
func transportFor(caller Caller, sharing bool) *transport {
	if maker, ok := caller.(interface{ Pipeline() redis.Pipeliner }); ok && sharing {
		switch caller.(type) {
		case *redis.Client, *redis.ClusterClient, router:
			return sharedTransport(caller, maker.Pipeline)
		}
	}
	return newTransport(caller, nil)
}

func sharedTransport(caller Caller, pipeline func() redis.Pipeliner) *transport {
	transports.Lock()
	defer transports.Unlock()
	if t := transports.of[caller].Value(); t != nil {
		return t
	}
	t := newTransport(caller, pipeline)
	if transports.of == nil {
		transports.of = map[Caller]weak.Pointer[transport]{}
	}
	transports.of[caller] = weak.Make(t)
	runtime.AddCleanup(t, func(caller Caller) {
		transports.Lock()
		defer transports.Unlock()
		if transports.of[caller].Value() == nil {
			delete(transports.of, caller)
		}
	}, caller)
	return t
}

func newTransport(caller Caller, pipeline func() redis.Pipeliner) *transport {
	t := &transport{caller: caller, pipeline: pipeline, maxDirect: maxDirect}
	t.single.transport = t
	t.checked = &transport{caller: connectionCheck{caller}, maxDirect: maxDirect}
	t.checked.single.transport = t.checked
	switch c := caller.(type) {
	case *redis.Client:
		t.enforcesDeadline = c.Options().ContextTimeoutEnabled
	case *redis.Ring:
		t.enforcesDeadline = c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		t.enforcesDeadline = c.Options().ContextTimeoutEnabled
		t.slots = c
	case router:
		t.router = c
	}
	return t
}

// send sends a call and waits for its reply until the context ends. A late call is still in flight and must not be modified.
func (t *transport) send(ctx context.Context, cmd *command) result {
	q := t.queueFor(ctx, cmd)
	if n := q.inFlight.Add(1); t.endsInTime(ctx) && (t.pipeline == nil || n <= t.maxDirect || n <= maxUnshared && t.sharingPaused()) {
		defer q.inFlight.Add(-1)
		_ = process(ctx, t.caller, cmd)
	} else if late := q.send(ctx, cmd); late {
		return cmd.late(ctx)
	}
	r := cmd.result(cmd.Err())
	if r.err == nil && !t.slotsKnown.Load() {
		t.slotsKnown.Store(true)
	}
	return r
}

// process calls Process and returns the command's own error.
func process(ctx context.Context, caller Caller, cmd redis.Cmder) error {
	err := caller.Process(ctx, cmd)
	if cmdErr := cmd.Err(); cmdErr != nil {
		return cmdErr
	}
	if err != nil {
		cmd.SetErr(err)
	}
	return err
}

// cancelDelay bounds the time to the deadline of a call that its caller sends: cancelling its context has no effect until then.
const cancelDelay = 100 * time.Millisecond

// endsInTime reports whether a call that its caller sends ends with its context, or within cancelDelay after it.
func (t *transport) endsInTime(ctx context.Context) bool {
	if ctx.Done() == nil {
		return true
	}
	if !t.enforcesDeadline || t.slots != nil && !t.slotsKnown.Load() {
		return false
	}
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= cancelDelay
}

// queueFor returns the queue of the node that serves a call's first key.
func (t *transport) queueFor(ctx context.Context, cmd *command) *nodeQueue {
	if t.router == nil && (t.slots == nil || !t.slotsKnown.Load()) {
		return &t.single
	}
	key, ok := firstKey(cmd.Cmd.Args())
	if !ok {
		return &t.single
	}
	var address string
	if t.router != nil {
		address = t.router.Node(key)
	} else if node, err := t.slots.MasterForKey(ctx, key); err == nil { // sends nothing, because the slots are known
		address = node.Options().Addr
	}
	if address == "" {
		return &t.single
	}
	found, ok := t.queues.Load(address)
	if !ok {
		found, _ = t.queues.LoadOrStore(address, &nodeQueue{transport: t})
	}
	return found.(*nodeQueue)
}

func (t *transport) sharingPaused() bool {
	until := t.pausedUntil.Load()
	return until != 0 && time.Since(start) < time.Duration(until)
}

// A connectionCheck sends a call over one connection, and gives the connection up if it leads to a replica. go-redis does that itself for
// an error that begins with READONLY, but not if a proxy has put its own words before it, and rueidis and valkey-go never do: after a
// failover, connections through a proxy would go on leading to the old primary.
type connectionCheck struct{ caller Caller }

func (c connectionCheck) Process(ctx context.Context, cmd redis.Cmder) error {
	key, _ := firstKey(cmd.Args())
	adapter, ok := c.caller.(router)
	if ok {
		err := process(ctx, c.caller, cmd)
		if refusedByReplica(err) {
			_ = adapter.ProcessAt(ctx, key, redis.NewCmd(ctx, "QUIT")) // which the library answers with a new connection
		}
		return err
	}
	client, ok := c.caller.(*redis.Client)
	if !ok {
		client = clientOf(ctx, c.caller, key)
	}
	if client == nil {
		return process(ctx, c.caller, cmd)
	}
	conn := client.Conn()
	defer conn.Close()
	err := process(ctx, conn, cmd)
	if refusedByReplica(err) {
		_ = conn.Process(ctx, redis.NewCmd(ctx, "PING", unwritable{})) // go-redis closes a connection on which a write failed
	}
	return err
}

func refusedByReplica(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && readOnlyReply.MatchString(reply.Error())
}

// An unwritable word fails the command that has it.
type unwritable struct{}

func (unwritable) MarshalBinary() ([]byte, error) {
	return nil, errors.New("the connection leads to a replica; it is given up")
}

// noteDial records an attempt to connect that failed.
func (t *transport) noteDial(err error) {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		err = op
		t.refusedDial.Store(&err)
	}
}

// answered records that a call was answered.
func (t *transport) answered() {
	if t.refusedDial.Load() != nil {
		t.refusedDial.Store(nil)
	}
	if t.demoted.Load() {
		t.demoted.Store(false)
	}
}

// Unreachable returns why the last attempt to connect failed, if no call was answered since; else nil. go-redis tries again for about
// half a second before it returns that error, so a caller with a shorter deadline does not see it.
func (c *Client) Unreachable() error {
	if err := c.transport.refusedDial.Load(); err != nil {
		return *err
	}
	return nil
}

func (t *transport) pauseSharing() { t.pausedUntil.Store(int64(time.Since(start) + sharingPause)) }

// A slotReloader is a *redis.ClusterClient. It reloads the hash slots each minute and after MOVED. A primary that died sends no
// MOVED, so calls to its slots would fail until then although a replica was promoted.
type slotReloader interface {
	// ReloadState reloads in the background, at most five times a second.
	ReloadState(ctx context.Context)
}

// noteFailure is called after each failure. If a dead node would explain it, the slots are reloaded and calls stop sharing
// round trips for a while.
func (c *Client) noteFailure(ctx context.Context, err error) {
	c.transport.noteDial(err)
	var unavailable *UnavailableError
	var lost *OutcomeError
	switch {
	case errors.As(err, &lost) && lost.Code == "":
	case errors.As(err, &unavailable) && (unavailable.Code == "" || unavailable.Code == "CLUSTERDOWN"):
	default:
		return
	}
	c.transport.pauseSharing()
	if m, ok := c.caller.(slotReloader); ok {
		m.ReloadState(context.WithoutCancel(ctx))
	}
}
