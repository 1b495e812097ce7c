// Package adapter runs the calls of generated clients over a client library other than go-redis.
//
// The modules fcall/adapter/rueidis and fcall/adapter/valkeygo are such adapters. Another library needs a [Sender].
package adapter

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A Client is a Caller for generated clients and guard. It runs the commands of a [redis.Cmd] only. It is safe for concurrent use.
//
// Commands do not end with their context, but with the library's own timeouts, because an ended command could break the connection
// of others. A call of a generated client returns when its context ends, nevertheless.
type Client struct {
	sender Sender
	slots  *slots        // nil without a cluster
	pipes  *redis.Client // makes pipelines, and never connects
}

// New returns a client. On a cluster it first asks for the hash slots, so the cluster must answer.
func New(sender Sender, clustered bool) (*Client, error) {
	c := &Client{sender: sender, pipes: redis.NewClient(&redis.Options{})}
	c.pipes.AddHook(hook{c})
	if clustered {
		c.slots = &slots{sender: sender}
		if err := c.slots.load(context.Background()); err != nil {
			return nil, fmt.Errorf("new adapter: %w", err)
		}
	}
	return c, nil
}

// Clustered reports whether keys are on several servers.
func (c *Client) Clustered() bool { return c.slots != nil }

// Node returns the address of the primary that serves a key, or "" without a cluster. It sends nothing. After a slot has moved it
// returns the old address for up to a minute.
func (c *Client) Node(key string) string {
	if c.slots == nil {
		return ""
	}
	return c.slots.node(key)
}

// ReloadState asks a cluster for its hash slots again, in the background.
func (c *Client) ReloadState(context.Context) {
	if c.slots != nil {
		c.slots.reload()
	}
}

// Process sends a command to the primary of its first key, at most once if it may have run.
func (c *Client) Process(ctx context.Context, cmd redis.Cmder) error {
	c.send(ctx, []redis.Cmder{cmd})
	return cmd.Err()
}

// Pipeline returns a pipeline of [redis.Cmd] commands. Its Exec sends them together, to each node those of its keys.
func (c *Client) Pipeline() redis.Pipeliner { return c.pipes.Pipeline() }

// ProcessAt sends a command without keys to the primary that serves key. On a cluster it goes in a transaction with one that
// reads the type of key: such a transaction follows MOVED and ASK.
func (c *Client) ProcessAt(ctx context.Context, key string, cmd redis.Cmder) error {
	words, err := wordsOf(cmd.Args())
	if err != nil {
		cmd.SetErr(err)
		return err
	}
	if c.slots == nil {
		setReply(cmd, c.sender.Send(context.WithoutCancel(ctx), []Command{{key, words}})[0])
		return cmd.Err()
	}
	replies := c.sender.Send(context.WithoutCancel(ctx), []Command{
		{"", []string{"MULTI"}},
		{key, []string{"TYPE", key}}, // functions run it too, so the user has the permission
		{key, words},
		{"", []string{"EXEC"}},
	})
	setReply(cmd, executed(replies))
	return cmd.Err()
}

// executed returns the reply to the third command of a transaction.
func executed(replies []Reply) Reply {
	for _, r := range replies[:3] { // of EXEC it would be EXECABORT
		if r.Err != nil {
			return Reply{Err: r.Err}
		}
	}
	if replies[3].Err != nil {
		return replies[3]
	}
	results, _ := replies[3].Value.([]any)
	if len(results) != 2 {
		return Reply{Err: errors.New("adapter: the reply to EXEC has no two elements")}
	}
	if err, failed := results[1].(ServerError); failed {
		return Reply{Err: err}
	}
	return Reply{Value: results[1]}
}

// send sends commands in one round trip to each node, and sets their replies.
func (c *Client) send(ctx context.Context, cmds []redis.Cmder) {
	commands, sent := make([]Command, 0, len(cmds)), make([]redis.Cmder, 0, len(cmds))
	for _, cmd := range cmds {
		words, err := wordsOf(cmd.Args())
		if err != nil {
			cmd.SetErr(err)
			continue
		}
		commands, sent = append(commands, Command{keyOf(words), words}), append(sent, cmd)
	}
	if len(commands) == 0 {
		return
	}
	for i, r := range c.sender.Send(context.WithoutCancel(ctx), commands) {
		setReply(sent[i], r)
	}
}

// setReply sets the reply to a command, whose Args have been read before.
func setReply(cmd redis.Cmder, r Reply) {
	switch settable, ok := cmd.(interface{ SetVal(any) }); {
	case r.Err != nil:
		cmd.SetErr(r.Err)
	case !ok:
		cmd.SetErr(fmt.Errorf("adapter: %T cannot hold a reply; use redis.Cmd", cmd))
	default:
		settable.SetVal(r.Value)
	}
}

// A hook sends the pipelines of a go-redis client.
type hook struct{ client *Client }

func (h hook) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h hook) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.client.send(ctx, cmds)
		for _, cmd := range cmds {
			if err := cmd.Err(); err != nil {
				return err
			}
		}
		return nil
	}
}

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

// wordsOf returns the words of a command as they are sent.
func wordsOf(args []any) ([]string, error) {
	words := make([]string, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			words[i] = arg
		case []byte:
			words[i] = string(arg)
		case int:
			words[i] = strconv.Itoa(arg)
		case int64:
			words[i] = strconv.FormatInt(arg, 10)
		case float64:
			words[i] = strconv.FormatFloat(arg, 'f', -1, 64)
		case encoding.BinaryMarshaler:
			text, err := arg.MarshalBinary()
			if err != nil {
				return nil, err
			}
			words[i] = string(text)
		default:
			return nil, fmt.Errorf("adapter: cannot send word %d, a %T", i+1, arg)
		}
	}
	return words, nil
}

// anyKey routes commands without keys.
const anyKey = "any"

// keyOf returns the first key of a call of a function, or anyKey.
func keyOf(words []string) string {
	if len(words) > 3 && strings.HasPrefix(words[0], "FCALL") && words[2] != "0" {
		return words[3]
	}
	return anyKey
}
