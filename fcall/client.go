package fcall

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/agreed"
)

// A Caller sends one command and waits for its reply: a *redis.Client, *redis.ClusterClient, *redis.Conn, *redis.Tx, embedded server,
// client of package fcall/adapter, or anything like them. A Pipeliner is not a Caller: pass it to Queue. Auto-load does not find the
// shard of a *redis.Ring that lacks the library, so load it on each shard before.
type Caller interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// Options of a Client; the zero value is useful.
type Options struct {
	// Namespace begins every key: 1 to 64 of A-Z a-z 0-9 _ - . Defaults to rl, for all
	// libraries, so that their clients and guard see the same state.
	Namespace string
	// MaxAttempts bounds how often a call is sent while each failure proves that nothing ran; 1 means no retry. A call whose
	// hash slot is migrating (TRYAGAIN) is retried up to 9 more times within about a second, unless MaxAttempts is 1. Defaults
	// to 3.
	MaxAttempts int
	// NoSharing gives every call its own round trip. Otherwise calls over a *redis.Client, *redis.ClusterClient or adapter share
	// round trips while more than 4 are in flight to a node. Defaults to sharing.
	NoSharing bool
	// NoAutoLoad makes a call return ErrNotLoaded if its library is missing. Otherwise the client loads the missing library, at most
	// once a second on each node, never replaces one, and sends the call once more. The user needs +function|load for that; on a
	// cluster also +multi, +exec and +type. Defaults to auto-load.
	NoAutoLoad bool
}

// A Client calls the functions of one library. It is safe for concurrent use if its Caller is.
type Client struct {
	caller      Caller
	lib         *Library
	namespace   string
	maxAttempts int
	autoload    *autoloader
	transport   *transport
	words       sync.Map // *Function to its ServerName as an any, which would be an allocation of each call
}

// NewClient returns a client. It sends nothing.
func NewClient(caller Caller, lib *Library, o Options) (*Client, error) {
	if caller == nil || lib == nil {
		return nil, errors.New("new client: caller and library must not be nil")
	}
	switch caller.(type) {
	case redis.Pipeliner:
		return nil, fmt.Errorf("new client of %s: a Pipeliner only queues; pass its client here and the pipeline to Queue", lib.Name)
	case *redis.AutoPipeliner: // it hides the cluster client, which must reload its slots when a node dies
		return nil, fmt.Errorf("new client of %s: pass the client that made the AutoPipeliner; calls share round trips anyway", lib.Name)
	}
	if o.Namespace == "" {
		o.Namespace = agreed.Namespace
	}
	if err := CheckNamespace(o.Namespace); err != nil {
		return nil, fmt.Errorf("new client of %s: %w", lib.Name, err)
	}
	if o.MaxAttempts < 0 {
		return nil, fmt.Errorf("new client of %s: MaxAttempts must be 0 or more, got %d", lib.Name, o.MaxAttempts)
	}
	if o.MaxAttempts == 0 {
		o.MaxAttempts = 3
	}
	return &Client{
		caller: caller, lib: lib, namespace: o.Namespace, maxAttempts: o.MaxAttempts, transport: newTransport(caller, !o.NoSharing),
		autoload: &autoloader{caller: caller, lib: lib, off: o.NoAutoLoad, now: time.Now},
	}, nil
}

// Library returns the library that the client calls.
func (c *Client) Library() *Library { return c.lib }

// word returns a function's name as it is sent.
func (c *Client) word(fn *Function) any {
	word, ok := c.words.Load(fn)
	if !ok {
		word, _ = c.words.LoadOrStore(fn, fn.ServerName)
	}
	return word
}

// Namespace returns the beginning of every key.
func (c *Client) Namespace() string { return c.namespace }

// Stats returns the client's counters of missing libraries.
func (c *Client) Stats() Stats {
	a := c.autoload
	return Stats{NotLoaded: a.notLoaded.Load(), Loads: a.loads.Load(), Refused: a.refused.Load()}
}

// Call sends one call with keys and arguments unchecked. Generated code uses Args.
func (c *Client) Call(ctx context.Context, fn *Function, keys []string, args []any) (*Reply, error) {
	return c.send(ctx, fn, rawCommand(keys, args), new(callBuffers))
}

// Queue adds a call to a pipeline; Pending.Reply returns its reply after Exec. A queued call is sent at most once.
func (c *Client) Queue(ctx context.Context, pipe redis.Pipeliner, fn *Function, keys []string, args []any) *Pending {
	return c.queue(ctx, pipe, fn, rawCommand(keys, args), new(callBuffers))
}

func rawCommand(keys []string, args []any) []any {
	cmd := make([]any, 0, cmdHead+len(keys)+len(args))
	cmd = append(cmd, nil, nil, len(keys)) // command fills the first two words
	for _, k := range keys {
		cmd = append(cmd, k)
	}
	return append(cmd, args...)
}

// send repeats a call only while the outcome proves that nothing ran.
func (c *Client) send(ctx context.Context, fn *Function, args []any, r *callBuffers) (*Reply, error) {
	var loaded *flight
	demoted := c.transport.demoted.Load()
	for attempt := 1; ; attempt++ {
		if err := ctx.Err(); err != nil {
			return nil, &UnavailableError{Function: fn.String(), Attempts: attempt - 1, Cause: err}
		}
		mark := c.autoload.ended.Load()
		cmd := r.command(ctx, c, fn, args)
		transport := c.transport
		if demoted {
			transport = transport.checked
		}
		got := transport.send(ctx, cmd)
		if got.err == nil {
			c.transport.answered()
			return r.reply.decode(fn, got.reply), nil
		}
		err, again := classify(fn, got, attempt)
		if u, ok := err.(*UnavailableError); ok && u.Code == "READONLY" {
			demoted = true
			c.transport.demoted.Store(true)
		}
		if !got.late || !errors.Is(got.err, context.Canceled) { // a caller that leaves says nothing about the server
			c.noteFailure(ctx, err)
		}
		if got.late {
			return nil, err
		}
		if lost, ok := err.(*NotLoadedError); ok {
			if loaded != nil {
				return nil, lost.because(loaded.missing())
			}
			c.autoload.notLoaded.Add(1)
			if c.autoload.off {
				return nil, lost
			}
			var cause error
			if loaded, cause = c.autoload.load(ctx, cmd, mark); cause != nil {
				return nil, lost.because(cause)
			}
			attempt--
			continue
		}
		if !again || attempt >= c.maxSends(err) || !pause(ctx, attempt) {
			return nil, err
		}
	}
}

// slotAttempts is how many more times a call is sent whose hash slot is migrating. Until all of its keys have moved, both nodes
// refuse it.
const slotAttempts = 9

// maxSends returns how often a call that fails with err is sent.
func (c *Client) maxSends(err error) int {
	if u, ok := err.(*UnavailableError); ok && u.Code == "TRYAGAIN" && c.maxAttempts > 1 {
		return c.maxAttempts + slotAttempts
	}
	return c.maxAttempts
}

// pause waits 5 to 10 ms before the second attempt, twice as long before each further one, at most 160 ms. It reports false if
// the context ends first.
func pause(ctx context.Context, attempt int) bool {
	most := 10 * time.Millisecond << min(attempt-1, 4)
	t := time.NewTimer(most/2 + rand.N(most/2))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// errNotExecuted is the cause if a pipeline's Exec was not called, or was called without this command.
var errNotExecuted = errors.New("the pipeline was not executed")

// A Pending is a queued call. Its reply is there after the pipeline's Exec, even if Exec failed: Exec returns the error of the
// first failed command, which may be another one.
type Pending struct {
	fn      *Function
	cmd     *command
	buffers *callBuffers
	err     error
	client  *Client
	mark    uint64
	ctx     context.Context // of Queue, for auto-load
}

func (c *Client) queue(ctx context.Context, pipe redis.Pipeliner, fn *Function, args []any, r *callBuffers) *Pending {
	p := &Pending{fn: fn, cmd: r.command(ctx, c, fn, args), buffers: r, client: c, mark: c.autoload.ended.Load(), ctx: ctx}
	// Process of a pipeline only queues. Its error is not that of the reply.
	if err := pipe.Process(ctx, p.cmd); err != nil {
		p.err = &UnavailableError{Function: fn.String(), Cause: err}
	}
	return p
}

// Reply returns the reply, or the error that says what a failure proves.
//
// If the library was missing, the client loads it but does not send the call again, because the call may belong to a
// transaction. NotLoadedError.NowLoaded reports whether sending it again would succeed. Reply waits for the load until the
// context of Queue ends, at most 5 s; the load continues after that.
func (p *Pending) Reply() (*Reply, error) {
	if p.err != nil {
		return nil, p.err
	}
	if p.cmd.Err() == nil && p.cmd.Val() == nil {
		return nil, &UnavailableError{Function: p.fn.String(), Cause: errNotExecuted}
	}
	c, got := p.client, p.client.transport.result(p.ctx, p.cmd, true)
	if got.err != nil {
		p.err, _ = classify(p.fn, got, 1)
		c.noteFailure(p.ctx, p.err)
		if lost, ok := p.err.(*NotLoadedError); ok {
			p.err = c.autoloadQueued(p.ctx, lost, p.cmd, p.mark)
		}
		return nil, p.err
	}
	c.transport.answered()
	return p.buffers.reply.decode(p.fn, got.reply), nil
}

// Call makes a call of a generated client, whose reply read turns into its result.
func Call[R any](ctx context.Context, a *Args, read func(*Reply) R) (R, error) {
	reply, err := a.Call(ctx)
	return finish(reply, err, read)
}

// Queue adds a call of a generated client to a pipeline.
func Queue[R any](ctx context.Context, pipe redis.Pipeliner, a *Args, read func(*Reply) R) PendingResult[R] {
	return PendingResult[R]{Pending: a.Queue(ctx, pipe), read: read}
}

// A PendingResult is a queued call of a function whose result is an R.
type PendingResult[R any] struct {
	*Pending
	read func(*Reply) R
}

// Result returns the result once the pipeline has been executed.
func (p PendingResult[R]) Result() (R, error) {
	reply, err := p.Reply()
	return finish(reply, err, p.read)
}

func finish[R any](reply *Reply, err error, read func(*Reply) R) (r R, _ error) {
	if err != nil {
		return r, err
	}
	got := read(reply)
	if err := reply.Err(); err != nil {
		return r, err
	}
	return got, nil
}

// autoloadQueued loads the library that a queued call missed, and returns the call's error.
func (c *Client) autoloadQueued(ctx context.Context, lost *NotLoadedError, cmd *command, mark uint64) error {
	c.autoload.notLoaded.Add(1)
	if c.autoload.off {
		return lost
	}
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	f, err := c.autoload.load(ctx, cmd, mark)
	if lost.NowLoaded = err == nil && f.err == nil; lost.NowLoaded {
		return lost
	}
	if err == nil {
		err = f.missing()
	}
	return lost.because(err)
}
