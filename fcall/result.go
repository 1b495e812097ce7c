package fcall

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
)

// A fate is what is known of a call that was to be sent.
type fate int

const (
	replied    fate = iota // the server answered, perhaps with an error
	notSent                // nothing ran
	mayHaveRun             // its reply was lost, or is older than the last time that it was sent
)

// A result is how a call ended, and all that is known here of the client below: judge needs nothing else.
type result struct {
	fate  fate
	reply any
	err   error
	sent  int  // how often, redirections included
	late  bool // its context ended first
}

// result is that of a command which has come back with an error, or nil.
func (c *command) result(err error) result {
	r := result{err: err, sent: int(c.writes.Load())}
	switch {
	case err == nil:
		c.answered()
		r.reply = c.Val()
	case c.stale():
		r.fate = mayHaveRun
	case isReply(err):
	case neverSent(err) || c.unwritten() || errors.Is(err, redis.ErrClosed) && r.sent == 0:
		r.fate = notSent
	default:
		r.fate = mayHaveRun
	}
	return r
}

// late is the result of a command whose context ended before its reply came.
func (c *command) late(ctx context.Context) result {
	if c.abandon() {
		return result{fate: notSent, err: left(ctx), late: true}
	}
	return result{fate: mayHaveRun, err: left(ctx), late: true}
}

// neverSent tells errors that come before a command reaches a connection.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" ||
		errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted)
}

func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}
