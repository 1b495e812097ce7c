package fcall

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

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
	p := &Pending{fn: fn, client: c, mark: c.autoload.mark(), ctx: ctx, buffers: r}
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
