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

// A Caller sends one command and waits for its reply: a *redis.Client, *redis.ClusterClient, *redis.Ring, *redis.Conn,
// *redis.Tx, embedded server or client of package fcall/adapter. A Pipeliner is not a Caller: pass it to Queue.
type Caller interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// Options of a Client; the zero value is useful.
type Options struct {
	// Namespace begins every key: 1 to 64 of A-Z a-z 0-9 _ - . Defaults to the library's name.
	Namespace string
	// Channel selects a channel of the library, see Library.Channel. Defaults to the library itself.
	Channel string
	// Mode selects functions or scripts. Defaults to ModeAuto: functions, or scripts if the server has no functions.
	Mode Mode
	// MaxAttempts bounds how often a call is sent while each failure proves that nothing ran; 1 means no retry. A call whose
	// hash slot is migrating (TRYAGAIN) is retried up to 9 more times within about a second, unless MaxAttempts is 1. Defaults
	// to 3.
	MaxAttempts int
	// NoSharing gives every call its own round trip. Otherwise calls over a *redis.Client, *redis.ClusterClient or adapter share
	// round trips while more than 4 are in flight to a node. Defaults to sharing.
	NoSharing bool
	// NoAutoLoad makes a call return ErrNotLoaded if its library is missing, unless the server refuses FUNCTION and the Mode allows
	// scripts. Otherwise the client loads the missing library, at
	// most once a second on each node, never replaces one, and sends the call once more. The user needs +function|load for
	// that; on a cluster also +multi, +exec and +type. Defaults to auto-load.
	NoAutoLoad bool
}

// A Client calls the functions of one library. It is safe for concurrent use if its Caller is.
type Client struct {
	caller         Caller
	lib            *Library
	base           *Library // lib without its channel
	functions      sync.Map // *Function to the one that bind returned
	namespace      string
	maxAttempts    int
	autoload       *autoloader
	mode           Mode
	lacksFunctions atomic.Bool // a node lacked functions
	nodes          sync.Map    // address to *nodeState, once a node lacks a command
	scripts        scripts
	now            func() time.Time
	signal         writeSignal
	transport      *transport
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
		return nil, fmt.Errorf("new client of %s: invalid Mode %d: use ModeAuto, ModeFunctions or ModeScripts", lib.Name, o.Mode)
	}
	if o.MaxAttempts < 0 {
		return nil, fmt.Errorf("new client of %s: MaxAttempts must be 0 or more, got %d", lib.Name, o.MaxAttempts)
	}
	if o.MaxAttempts == 0 {
		o.MaxAttempts = 3
	}
	c := &Client{caller: caller, lib: channel, base: lib, namespace: o.Namespace, maxAttempts: o.MaxAttempts, mode: o.Mode, now: time.Now}
	c.transport = transportFor(caller, !o.NoSharing)
	c.autoload = &autoloader{caller: caller, lib: channel, off: o.NoAutoLoad, now: time.Now}
	return c, nil
}

// Library returns the library that the client calls, that of its channel if it has one.
func (c *Client) Library() *Library { return c.lib }

// bind returns the function of the client's channel.
func (c *Client) bind(fn *Function) *Function {
	if bound, ok := c.functions.Load(fn); ok {
		return bound.(*Function)
	}
	bound, _ := c.functions.LoadOrStore(fn, fn.inChannel(c.lib, c.base))
	return bound.(*Function)
}

// Namespace returns the beginning of every key.
func (c *Client) Namespace() string { return c.namespace }

// Stats returns the client's counters of missing libraries.
func (c *Client) Stats() Stats {
	a := c.autoload
	return Stats{NotLoaded: a.notLoaded.Load(), Loads: a.loads.Load(), Refused: a.refused.Load()}
}

// Call sends one call with keys and arguments unchecked. Generated code uses Args, which checks them.
func (c *Client) Call(ctx context.Context, fn *Function, keys []string, args []any) (*Reply, error) {
	fn = c.bind(fn)
	return c.send(ctx, fn, rawCommand(keys, args), new(callBuffers))
}

// Queue adds a call to a pipeline; Pending.Reply returns its reply after Exec. A queued call is sent at most once.
func (c *Client) Queue(ctx context.Context, pipe redis.Pipeliner, fn *Function, keys []string, args []any) *Pending {
	fn = c.bind(fn)
	return c.queue(ctx, pipe, fn, rawCommand(keys, args), new(callBuffers))
}

func rawCommand(keys []string, args []any) []any {
	cmd := make([]any, 0, cmdHead+len(keys)+len(args))
	cmd = append(cmd, nil, nil, len(keys)) // setVerb fills the first two words
	for _, k := range keys {
		cmd = append(cmd, k)
	}
	return append(cmd, args...)
}

// send repeats a call only while the outcome proves that nothing ran.
func (c *Client) send(ctx context.Context, fn *Function, args []any, r *callBuffers) (*Reply, error) {
	var loaded *flight
	var form form
	demoted := c.transport.demoted.Load()
	for attempt := 1; ; attempt++ {
		if err := ctx.Err(); err != nil {
			return nil, &UnavailableError{Function: fn.String(), Attempts: attempt - 1, Cause: err}
		}
		c.setVerb(ctx, fn, args, &form)
		mark := c.autoload.ended.Load()
		cmd := r.command(ctx, &c.signal, args)
		transport := c.transport
		if demoted {
			transport = transport.checked
		}
		got := transport.send(ctx, cmd)
		if got.err == nil {
			c.recordSuccess(fn, &form)
			return r.reply.decode(fn, got.reply)
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
			if lost, ok := err.(*OutcomeError); ok {
				lost.left = cmd
			}
			return nil, err
		}
		if lost, ok := err.(*NotLoadedError); ok {
			if loaded != nil {
				return nil, c.autoload.explain(lost, loaded)
			}
			loaded, lost.Cause = c.autoload.load(ctx, cmd, mark)
			switch {
			case loaded != nil && loaded.refused:
				err = refusesFunctions(fn, loaded, attempt)
			case lost.Cause != nil:
				return nil, lost
			case c.autoload.off:
				return nil, c.autoload.explain(lost, loaded)
			default:
				attempt--
				continue
			}
		}
		if c.switchForm(ctx, fn, cmd, err, &form) {
			attempt--
			continue
		}
		if u, ok := err.(*UnavailableError); ok && u.kind == ErrNoPermission && form.scripted {
			u.Hint = "the Lua runs as a script here, for which the user needs more: see `rlfunc acl service --scripts`"
		}
		// More writes than that in one attempt mean a redirection loop, which go-redis has given up on.
		if !again || attempt >= c.maxSends(err) || got.sent > c.maxAttempts || !pause(ctx, attempt) {
			return nil, err
		}
	}
}

// setVerb writes the first two words of a call.
func (c *Client) setVerb(ctx context.Context, fn *Function, args []any, f *form) {
	args[0], args[1] = "FCALL", fn.word
	if fn.ReadOnly {
		args[0] = "FCALL_RO"
	}
	if c.mode == ModeScripts || c.mode == ModeAuto && c.lacksFunctions.Load() {
		c.setScript(ctx, fn, args, f)
	}
}

// recordSuccess is called for each successful reply.
func (c *Client) recordSuccess(fn *Function, f *form) {
	c.transport.answered()
	if f.node != nil {
		c.recordForm(fn, f)
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
	form    form
	mark    uint64
	ctx     context.Context // of Queue, for auto-load
}

func (c *Client) queue(ctx context.Context, pipe redis.Pipeliner, fn *Function, args []any, r *callBuffers) *Pending {
	// A pipeline is not sent again, so a script that the node may not know is sent with its text.
	p := &Pending{fn: fn, client: c, mark: c.autoload.ended.Load(), ctx: ctx, buffers: r}
	if c.setVerb(ctx, fn, args, &p.form); p.form.scripted {
		_, known := p.form.node.known.Load(c.scripts.of(fn).digest)
		p.form.whole = !known
		c.setVerb(ctx, fn, args, &p.form)
	}
	p.cmd = r.command(ctx, &c.signal, args)
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
	if err := p.cmd.Err(); err != nil {
		p.err, _ = classify(p.fn, p.cmd.result(err), 1)
		p.client.noteFailure(p.ctx, p.err)
		if lost, ok := p.err.(*NotLoadedError); ok {
			p.err = p.client.autoloadQueued(p.ctx, p.fn, lost, p.cmd, p.mark)
		}
		p.client.switchForm(p.ctx, p.fn, p.cmd, p.err, &p.form) // for the next call
		return nil, p.err
	}
	if p.cmd.Val() == nil {
		return nil, &UnavailableError{Function: p.fn.String(), Cause: errNotExecuted}
	}
	p.client.recordSuccess(p.fn, &p.form)
	return p.buffers.reply.decode(p.fn, p.cmd.result(nil).reply)
}

// autoloadQueued loads the library that a queued call missed, and returns the call's error.
func (c *Client) autoloadQueued(ctx context.Context, fn *Function, lost *NotLoadedError, cmd *command, mark uint64) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	f, err := c.autoload.load(ctx, cmd, mark)
	switch {
	case f != nil && f.refused:
		return refusesFunctions(fn, f, 1)
	case err != nil:
		lost.Cause = err
		return lost
	}
	if lost.NowLoaded = f.err == nil || f.found != nil && f.found.has(fn); lost.NowLoaded {
		return lost
	}
	return c.autoload.explain(lost, f)
}
