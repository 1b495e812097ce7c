package loader

import (
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// stateCommands are what a deploy needs beside FUNCTION, on keys of keyPattern.
const stateCommands = "+time +watch +unwatch +multi +exec +discard +get +getex +set +del +pttl +hset +hget +hdel +hgetall +rpush +ltrim +lrange"

// judgeState says why the lock, the records or the history could not be read or written.
func judgeState(op, node string, err error) *Error {
	e := judge(op, "", node, true, err)
	var reply redis.Error
	if !errors.As(err, &reply) {
		return e
	}
	switch code, _, _ := strings.Cut(reply.Error(), " "); code {
	case "NOPERM":
		e.Text = reply.Error() + "; a deploy keeps its lock and records on the server and needs ~" + keyPattern + " " + stateCommands + "; a user who may run nothing but FUNCTION deploys with --stateless"
	case "MOVED", "ASK":
		e.Reason = ErrUnsupported
		e.Text = "this is one node of a cluster, and the records are on another: give the cluster as redis+cluster://"
	case "WRONGTYPE":
		e.Text = "a key that begins with rlfunc:{deploy} holds something that rlfunc did not write: " + reply.Error()
	}
	return e
}
