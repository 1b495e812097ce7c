package fcall

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A command is one FCALL. go-redis sends a command whose NoRetry is true at most once if it may have run. It still follows
// MOVED and ASK, which prove that nothing ran.
type command struct {
	*redis.Cmd

	// Fields of a call in a nodeQueue:
	ctx       context.Context
	lead      chan *round // see leads
	bounded   bool        // the client ends it by its context's deadline
	withdrawn bool        // its context ended while it was queued
	shared    bool        // sent in a pipeline
}

// NoRetry keeps go-redis from sending the command again. Client.send decides about retries.
func (c *command) NoRetry() bool { return true }

// callBuffers hold a call's command and reply in one allocation with its words.
type callBuffers struct {
	cmd   command
	reply Reply
}

// command returns the command of one attempt. The attempt before has ended.
func (r *callBuffers) command(ctx context.Context, c *Client, fn *Function, args []any) *command {
	args[0], args[1] = "FCALL", c.word(fn)
	if fn.ReadOnly {
		args[0] = "FCALL_RO"
	}
	r.cmd = command{Cmd: redis.NewCmd(ctx, args...)}
	if args[2] != 0 { // else a cluster's client that may not run COMMAND takes the function's name for the key
		r.cmd.SetFirstKeyPos(cmdHead)
	}
	return &r.cmd
}

// A result is how a call ended. It is all that classify knows about the client below.
type result struct {
	reply  any
	err    error
	unsent bool // the error is not a reply, and the call was certainly not sent
	stale  bool // the error is a reply that came before the call was sent once more
	late   bool // its context ended first
}

// result returns the result of a command that has ended. The errors of a pipeline over a cluster's client prove less than others: it
// follows redirections and connects again by itself, and if the last reply of several commands is lost, they keep the errors that they had
// before.
func (t *transport) result(ctx context.Context, cmd *command, pipelined bool) result {
	err := cmd.Err()
	r := result{reply: cmd.Val(), err: err}
	if err == nil {
		if !t.slotsKnown.Load() {
			t.slotsKnown.Store(true)
		}
		return r
	}
	var reply redis.Error
	switch {
	case errors.Is(err, redis.Nil) && t.slots != nil && !t.slotsKnown.Load():
		r.err = errNameless
	case errors.As(err, &reply):
		r.stale = t.slots != nil && (strings.HasPrefix(err.Error(), "MOVED ") || strings.HasPrefix(err.Error(), "ASK "))
	default:
		r.unsent = neverSent(err) && !(pipelined && t.slots != nil)
		if deadline, ok := ctx.Deadline(); ok && errors.Is(err, os.ErrDeadlineExceeded) && !time.Now().Before(deadline) {
			r.err = fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
		}
	}
	return r
}

// errNameless replaces what go-redis returns before it sends anything if a node of the cluster has no name.
var errNameless = errors.New("go-redis cannot read the cluster's nodes; set their cluster-preferred-endpoint-type to ip or hostname")

// neverSent reports whether an error occurred before the command reached a connection.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) ||
		errors.Is(err, redis.ErrClosed)
}
