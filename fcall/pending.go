package fcall

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// errNotExecuted is the cause where a pipeline's Exec was not called, or was called without this command.
var errNotExecuted = errors.New("the pipeline was not executed")

// A Pending is a queued call. Its reply is there after the pipeline's Exec, whatever Exec returned: Exec's error is that
// of the first failed command, which may be another's.
type Pending struct {
	fn     *Function
	cmd    *command
	room   *room
	err    error
	client *Client
	form   form
	mark   uint64
	ctx    context.Context // of Queue, for a load of the library
}

func (c *Client) queue(ctx context.Context, pipe redis.Pipeliner, fn *Function, args []any, r *room) *Pending {
	// A pipeline is not sent again: a script that may be unknown there goes with its text.
	p := &Pending{fn: fn, client: c, mark: c.heal.mark(), ctx: ctx, room: r}
	if c.use(ctx, fn, args, &p.form); p.form.scripted {
		_, known := p.form.node.known.Load(c.scripts.of(fn).digest)
		p.form.whole = !known
		c.use(ctx, fn, args, &p.form)
	}
	p.cmd = r.command(ctx, &c.trust, args)
	// Process of a pipeline only queues; what it returns is not the reply's error.
	if err := pipe.Process(ctx, p.cmd); err != nil {
		p.err = &UnavailableError{Function: fn.String(), Cause: err}
	}
	return p
}

// Reply returns the reply, to be read from its first element, or what the failure proves.
//
// Where the library was absent, the client loads it, as Options.NoHeal says, but does not send the call again: whether it
// may run outside its pipeline or transaction is for the caller to say. NotLoadedError.Healed tells that it would be found. Reply
// waits for that load as long as the context of Queue lasts, at most 5 s; the load goes on without it.
func (p *Pending) Reply() (*Reply, error) {
	if p.err != nil {
		return nil, p.err
	}
	if err := p.cmd.Err(); err != nil {
		p.err, _ = judge(p.fn, p.cmd.result(err), 1)
		p.client.doubt(p.ctx, p.err)
		p.client.adapt(p.ctx, p.fn, p.cmd, p.err, &p.form) // for the next one
		if lost, ok := p.err.(*NotLoadedError); ok {
			p.client.healQueued(p.ctx, p.fn, lost, p.cmd, p.mark)
		}
		return nil, p.err
	}
	if p.cmd.Val() == nil {
		return nil, &UnavailableError{Function: p.fn.String(), Cause: errNotExecuted}
	}
	p.client.ran(p.fn, &p.form)
	return p.room.reply.of(p.fn, p.cmd.result(nil).reply)
}

func (c *Client) healQueued(ctx context.Context, fn *Function, lost *NotLoadedError, cmd *command, mark uint64) {
	if c.heal == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, healPatience)
	defer cancel()
	f, err := c.heal.heal(ctx, cmd, mark)
	if err != nil {
		lost.Cause = err
		return
	}
	if f.err != nil {
		held := c.heal.look(ctx, cmd, f)
		lost.Healed = held != nil && held.has(fn)
	} else {
		lost.Healed = true
	}
	if !lost.Healed {
		_ = c.heal.explain(ctx, lost, cmd, f)
	}
}
