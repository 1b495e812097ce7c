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
	fn  *Function
	cmd *command
	err error
}

func (c *Client) queue(ctx context.Context, pipe redis.Pipeliner, fn *Function, args []any) *Pending {
	p := &Pending{fn: fn, cmd: newCommand(ctx, fn, &c.trust, args)}
	// Process of a pipeline only queues; what it returns is not the reply's error.
	if err := pipe.Process(ctx, p.cmd); err != nil {
		p.err = &UnavailableError{Function: fn.String(), Cause: err}
	}
	return p
}

// Reply returns the reply, to be read from its first element, or what the failure proves.
func (p *Pending) Reply() (*Reply, error) {
	if p.err != nil {
		return nil, p.err
	}
	if err := p.cmd.Err(); err != nil {
		err, _ = judge(p.fn, p.cmd, err, 1)
		return nil, err
	}
	if p.cmd.Val() == nil {
		return nil, &UnavailableError{Function: p.fn.String(), Cause: errNotExecuted}
	}
	p.cmd.answered()
	return newReply(p.fn, p.cmd.Val())
}
