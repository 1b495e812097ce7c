package fcall

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// sharingPause is how long calls share round trips only as far as they must, after one without an answer.
const sharingPause = time.Second

// A transport sends the calls of a Client. It has no goroutines while there is nothing to send.
//
// A broken connection makes the outcome of every call of its round trip unknown. So for 1 s after a call without an answer there are up to
// four round trips in flight to each node, each with as few calls as possible. Then a failure costs the outcome of few calls.
type transport struct {
	caller           Caller
	pipeline         func() redis.Pipeliner // nil: calls do not share round trips
	enforcesDeadline bool                   // the caller itself ends a command at its context's deadline
	slots            *redis.ClusterClient   // nil unless the caller is a cluster's
	router           router                 // nil unless the caller is an adapter
	slotsKnown       atomic.Bool            // the caller has learned the cluster's hash slots
	single           nodeQueue              // to the only node, or to all until slotsKnown
	queues           sync.Map               // address to *nodeQueue
	pausedUntil      atomic.Int64           // end of the pause of sharing, in ns since start
	refusedDial      atomic.Pointer[error]  // of the last attempt to connect, until a call is answered
	checked          *transport             // sends calls after a replica has refused one, see connectionCheck
	demoted          atomic.Bool            // a replica has refused a call, and none was answered since
}

var start = time.Now() // for the monotonic clock

func newTransport(caller Caller, sharing bool) *transport {
	t := &transport{caller: caller}
	t.single.transport = t
	t.checked = &transport{caller: connectionCheck{caller}}
	t.checked.single.transport = t.checked
	switch c := caller.(type) {
	case *redis.Client:
		t.enforcesDeadline, t.pipeline = c.Options().ContextTimeoutEnabled, c.Pipeline
	case *redis.ClusterClient:
		t.enforcesDeadline, t.pipeline, t.slots = c.Options().ContextTimeoutEnabled, c.Pipeline, c
	case router:
		t.router, t.pipeline = c, c.Pipeline
	}
	if !sharing {
		t.pipeline = nil
	}
	return t
}

// send sends a call and waits for its reply until the context ends. A late call may still be in flight and must not be modified.
func (t *transport) send(ctx context.Context, cmd *command) result {
	if late := t.queueFor(ctx, cmd).send(ctx, cmd); late {
		return result{err: ctx.Err(), late: true, unsent: cmd.withdrawn}
	}
	return t.result(ctx, cmd, cmd.shared)
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

// endsInTime reports whether a call that its caller sends ends by the deadline of its context, or by the client's timeouts if the context
// has none. Cancelling it has no effect, as in go-redis.
func (t *transport) endsInTime(ctx context.Context) bool {
	return ctx.Done() == nil || t.enforcesDeadline && (t.slots == nil || t.slotsKnown.Load())
}

// queueFor returns the queue of the node that serves a call's first key.
func (t *transport) queueFor(ctx context.Context, cmd *command) *nodeQueue {
	if t.router == nil && t.slots == nil {
		return &t.single
	}
	key, ok := firstKey(cmd.Args())
	if !ok {
		return &t.single
	}
	address := t.node(ctx, key)
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
	client, _ := c.caller.(*redis.Client)
	if cluster, ok := c.caller.(*redis.ClusterClient); ok {
		client = clientOf(ctx, cluster, key)
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

// noteFailure is called after each failure. If a dead node would explain it, the slots are reloaded and calls stop sharing
// round trips for a while. Otherwise the slots are reloaded each minute and after MOVED, which a primary that died does not send.
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
	if c.transport.slots != nil {
		c.transport.slots.ReloadState(context.WithoutCancel(ctx)) // in the background, at most five times a second
	} else if c.transport.router != nil {
		c.transport.router.ReloadState(ctx)
	}
}
