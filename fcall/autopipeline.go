package fcall

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	aloneFor    = time.Second // how long calls go out by themselves after one that got no answer
	aloneAtOnce = 32          // how many of them at once to each node; more share round trips all the same
)

// An AutoPipeliner is a Caller whose concurrent calls share round trips, over a *redis.Client or a *redis.ClusterClient. Make one
// and give it to the clients of all libraries; Close frees what it takes. It is safe for concurrent use.
//
// A connection that breaks makes the outcome of every call of a round trip unknown. So after a call that got no answer, calls go
// out by themselves for a second, each over a connection of the client's pool, up to 32 at once to each node: what is lost then is
// the outcome of single calls, and a node that does not answer holds up no call for another one. What is beyond that shares round
// trips, so that a service that needs more calls than single round trips give is not slowed down to them.
type AutoPipeliner struct {
	client redis.UniversalClient
	shared *redis.AutoPipeliner
	alone  atomic.Int64 // until when calls go out by themselves, in nanoseconds since start
	lanes  sync.Map     // of a node's address to *atomic.Int32, the calls that are under way to it by themselves
}

var start = time.Now() // of the monotonic clock

// NewAutoPipeliner returns an auto-pipeliner over a client. Options default to those of the client's AutoPipeline; a client has one
// auto-pipeliner, so the first options win. A *redis.Ring has none.
func NewAutoPipeliner(client redis.UniversalClient, o *redis.AutoPipelineOptions) (*AutoPipeliner, error) {
	maker, ok := client.(interface {
		AutoPipelineWithOptions(*redis.AutoPipelineOptions) (*redis.AutoPipeliner, error)
	})
	if _, again := client.(*redis.AutoPipeliner); !ok || again {
		return nil, fmt.Errorf("new auto-pipeliner: use a *redis.Client or a *redis.ClusterClient, not a %T", client)
	}
	shared, err := maker.AutoPipelineWithOptions(o)
	if err != nil {
		return nil, fmt.Errorf("new auto-pipeliner: %w", err)
	}
	return &AutoPipeliner{client: client, shared: shared}, nil
}

// Process sends a command and waits for its reply.
func (a *AutoPipeliner) Process(ctx context.Context, cmd redis.Cmder) error {
	if until := a.alone.Load(); until != 0 && time.Since(start) < time.Duration(until) {
		lane := a.lane(ctx, cmd)
		if lane.Add(1) <= aloneAtOnce {
			defer lane.Add(-1)
			return a.client.Process(ctx, cmd)
		}
		lane.Add(-1)
	}
	return a.shared.Process(ctx, cmd)
}

// Close sends what is queued, and ends the auto-pipeliner, which is also that of the client's AutoPipeline. It does not close the
// client.
func (a *AutoPipeliner) Close() error { return a.shared.Close() }

// lane counts the calls that are under way by themselves to the node of a call.
func (a *AutoPipeliner) lane(ctx context.Context, cmd redis.Cmder) *atomic.Int32 {
	address := ""
	if c, ok := cmd.(*command); ok {
		address = nodeOf(ctx, a.client, c.Cmd.Args())
	}
	lane, ok := a.lanes.Load(address)
	if !ok {
		lane, _ = a.lanes.LoadOrStore(address, new(atomic.Int32))
	}
	return lane.(*atomic.Int32)
}

func (a *AutoPipeliner) doubt() { a.alone.Store(int64(time.Since(start) + aloneFor)) }

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
	if a, ok := c.caller.(*AutoPipeliner); ok {
		a.doubt()
	}
	if m, ok := under(c.caller).(mapped); ok {
		m.ReloadState(context.WithoutCancel(ctx))
	}
}

// under is what a Caller sends single commands with.
func under(caller Caller) Caller {
	if a, ok := caller.(*AutoPipeliner); ok {
		return a.client
	}
	return caller
}
