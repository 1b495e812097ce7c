package fcall

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Caller sends one command and waits for its reply: *redis.Client, *redis.ClusterClient, *redis.Ring, *redis.Conn, *redis.Tx or an
// embedded server. A Pipeliner only queues: it goes to Queue.
type Caller interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// Options of a Client; the zero value is useful.
type Options struct {
	// Namespace starts every key: 1 to 64 of A-Z a-z 0-9 _ - . Defaults to the library's name.
	Namespace string
	// Channel is the channel of the library that the client calls, see Library.Channel. Defaults to the library itself.
	Channel string
	// Mode says whether the client calls functions or runs the same Lua as scripts. Defaults to ModeAuto: functions, or
	// scripts where the server has none.
	Mode Mode
	// MaxAttempts is how often a call is sent at most while each outcome proves that nothing ran; 1 means never again.
	// Otherwise a call whose slot moves between two nodes (TRYAGAIN) is sent up to nine times more, which takes a second.
	// Defaults to 3.
	MaxAttempts int
	// NoSharing gives every call a round trip of its own. Otherwise calls share round trips over a *redis.Client and a
	// *redis.ClusterClient while more than 4 are under way to a node. Defaults to sharing.
	NoSharing bool
	// NoHeal turns off what a call does about a library that is absent: load it where it is absent, never replacing one,
	// at most once a second on each node whatever the number of callers, and send the call once more. The user needs
	// +function|load for it; over a cluster also +multi, +exec and +type. Defaults to healing;
	// with NoHeal the call returns ErrNotLoaded.
	NoHeal bool
	// OnNotLoaded is called in place of that load, under the same bounds; if it returns nil the call is sent once more.
	// Defaults to the load.
	OnNotLoaded func(ctx context.Context) error
}

// A Client calls the functions of one library. It is safe for concurrent use if its Caller is.
type Client struct {
	caller      Caller
	lib         *Library
	base        *Library // lib without its channel
	functions   sync.Map // of *Function to the same as it is called
	namespace   string
	maxAttempts int
	heal        *healer // nil: off
	mode        Mode
	lacking     atomic.Bool // a node has been without functions
	nodes       sync.Map    // of address to *node, once one lacks something
	scripts     scripts
	now         func() time.Time
	trust       trust
	engine      *engine
}

// NewClient returns a client; it sends nothing.
func NewClient(caller Caller, lib *Library, o Options) (*Client, error) {
	if caller == nil || lib == nil {
		return nil, errors.New("new client: caller and library must not be nil")
	}
	switch caller.(type) {
	case redis.Pipeliner:
		return nil, fmt.Errorf("new client of %s: a Pipeliner only queues; give the client that made it, and the pipeline to Queue", lib.Name)
	case *redis.AutoPipeliner: // it hides the cluster whose slots are to be looked up when a node dies
		return nil, fmt.Errorf("new client of %s: give the client that made the AutoPipeliner; calls share round trips without it", lib.Name)
	}
	if o.Namespace == "" {
		o.Namespace = lib.Name
	}
	if err := CheckNamespace(o.Namespace); err != nil {
		return nil, fmt.Errorf("new client of %s: %w", lib.Name, err)
	}
	channel, err := lib.Channel(o.Channel)
	if err != nil {
		return nil, fmt.Errorf("new client of %s: %w", lib.Name, err)
	}
	if o.Mode < ModeAuto || o.Mode > ModeScripts {
		return nil, fmt.Errorf("new client of %s: there is no Mode %d", lib.Name, o.Mode)
	}
	if o.MaxAttempts < 0 {
		return nil, fmt.Errorf("new client of %s: MaxAttempts must be 0 or more, got %d", lib.Name, o.MaxAttempts)
	}
	if o.MaxAttempts == 0 {
		o.MaxAttempts = 3
	}
	c := &Client{caller: caller, lib: channel, base: lib, namespace: o.Namespace, maxAttempts: o.MaxAttempts, mode: o.Mode, now: time.Now}
	c.engine = engineOf(caller, !o.NoSharing)
	if !o.NoHeal {
		c.heal = &healer{caller: caller, lib: channel, hook: o.OnNotLoaded, now: time.Now}
	}
	return c, nil
}

// Library returns the library whose functions the client calls, that of its channel if it has one.
func (c *Client) Library() *Library { return c.lib }

// bind returns a function as the client calls it.
func (c *Client) bind(fn *Function) *Function {
	if bound, ok := c.functions.Load(fn); ok {
		return bound.(*Function)
	}
	bound, _ := c.functions.LoadOrStore(fn, fn.in(c.lib, c.base))
	return bound.(*Function)
}

// Namespace returns what starts every key.
func (c *Client) Namespace() string { return c.namespace }

// Stats returns what the client did so far about servers that lacked the library.
func (c *Client) Stats() Stats {
	h := c.heal
	if h == nil {
		return Stats{}
	}
	return Stats{NotLoaded: h.notLoaded.Load(), Loads: h.loads.Load(), Refused: h.refused.Load()}
}

// Call sends one call with keys and arguments as they stand; generated code goes through Args, which checks them.
func (c *Client) Call(ctx context.Context, fn *Function, keys []string, args []any) (*Reply, error) {
	fn = c.bind(fn)
	return c.send(ctx, fn, rawCommand(keys, args), new(room))
}

// Queue adds a call to a pipeline; Pending.Reply has the answer after Exec. A queued call is sent at most once.
func (c *Client) Queue(ctx context.Context, pipe redis.Pipeliner, fn *Function, keys []string, args []any) *Pending {
	fn = c.bind(fn)
	return c.queue(ctx, pipe, fn, rawCommand(keys, args), new(room))
}

func rawCommand(keys []string, args []any) []any {
	cmd := make([]any, 0, cmdHead+len(keys)+len(args))
	cmd = append(cmd, nil, nil, len(keys)) // the first two words are for use
	for _, k := range keys {
		cmd = append(cmd, k)
	}
	return append(cmd, args...)
}

// send repeats a call only while the outcome proves that nothing ran.
func (c *Client) send(ctx context.Context, fn *Function, args []any, r *room) (*Reply, error) {
	var healed *flight
	var form form
	for attempt := 1; ; attempt++ {
		if err := left(ctx); err != nil {
			return nil, &UnavailableError{Function: fn.String(), Attempts: attempt - 1, Cause: err}
		}
		c.use(ctx, fn, args, &form)
		mark := c.heal.mark()
		cmd := r.command(ctx, &c.trust, args)
		got := c.engine.send(ctx, cmd)
		if got.err == nil {
			c.ran(fn, &form)
			return r.reply.of(fn, got.reply)
		}
		err, again := judge(fn, got, attempt)
		c.doubt(ctx, err)
		if got.late {
			if lost, ok := err.(*OutcomeError); ok {
				lost.late = &Pending{fn: fn, cmd: cmd, room: r, client: c, form: form, mark: mark, ctx: ctx}
			}
			return nil, err
		}
		if c.adapt(ctx, fn, cmd, err, &form) {
			attempt--
			continue
		}
		if lost, ok := err.(*NotLoadedError); ok && c.heal != nil {
			if healed != nil {
				return nil, c.heal.explain(ctx, lost, cmd, healed)
			}
			if healed, lost.Cause = c.heal.heal(ctx, cmd, mark); lost.Cause != nil {
				return nil, lost
			}
			attempt--
			continue
		}
		// More writes than that in one attempt are redirections in a circle, which go-redis has given up.
		if !again || attempt >= c.most(err) || got.sent > c.maxAttempts || !pause(ctx, attempt) {
			return nil, err
		}
	}
}

// slotAttempts are how much more often a call is sent whose slot moves: if not all of its keys are there yet, both nodes
// refuse it for as long as the slot takes.
const slotAttempts = 9

// most is how often a call is sent that ends with err.
func (c *Client) most(err error) int {
	if u, ok := err.(*UnavailableError); ok && u.Code == "TRYAGAIN" && c.maxAttempts > 1 {
		return c.maxAttempts + slotAttempts
	}
	return c.maxAttempts
}

// pause waits 5 to 10 ms before the second attempt, twice as long before each further one, at most 160 ms; false when
// the context ends first.
func pause(ctx context.Context, attempt int) bool {
	most := 10 * time.Millisecond << min(attempt-1, 4)
	t := time.NewTimer(most/2 + rand.N(most/2))
	defer t.Stop()
	one, other := leave(ctx)
	select {
	case <-one:
		return false
	case <-other:
		return false
	case <-t.C:
		return true
	}
}
