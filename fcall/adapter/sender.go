package adapter

import "context"

// A Command is one command for a client library.
type Command struct {
	// Key is what a cluster routes the command by. The words need not contain it. "" only in a transaction: the command goes
	// with the transaction's other commands.
	Key   string
	Words []string
}

// A Reply is the reply to a Command.
type Reply struct {
	// Value is a string, int64, float64, bool or []any of these and ServerErrors, or a map[string]any.
	Value any
	// Err is a ServerError, redis.Nil, or the library's own error if there is no reply.
	Err error
}

// A ServerError is an error that the server replied, its whole text: "NOPERM this user ...".
type ServerError string

// Error returns the server's text.
func (e ServerError) Error() string { return string(e) }

// RedisError makes it a redis.Error.
func (e ServerError) RedisError() {}

// A Sender is a client library.
//
// Send sends commands to the primaries of their keys, together if they go to one node, and returns a reply for each, in order.
// It follows MOVED and ASK. It must not send a command again for any other reason, and must not wrap the *net.OpError of a
// failed dial in one without Unwrap: that error proves that nothing was sent. It is safe for concurrent use.
type Sender interface {
	Send(ctx context.Context, commands []Command) []Reply
}
