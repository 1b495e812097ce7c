package fcall

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// A command is one FCALL. go-redis sends a command whose NoRetry is true at most once where it may have run; it still
// follows MOVED and ASK, which prove that nothing ran.
//
// It also watches what go-redis does with it, because an error alone can mislead. A cluster pipeline keeps a command's
// first error: a command that was MOVED, sent to the new node, run there, and whose reply was lost still says MOVED.
// Whoever writes a command asks for its Args, so an error that is older than the last Args proves nothing.
type command struct {
	*redis.Cmd
	once    bool
	trust   *trust
	reads   atomic.Int32 // how often Args was asked for
	errRead atomic.Int32 // reads when the last error was set
	left    atomic.Bool  // nobody waits for it any more
	moved   atomic.Pointer[string]
}

func newCommand(ctx context.Context, fn *Function, t *trust, args []any) *command {
	return &command{Cmd: redis.NewCmd(ctx, args...), once: !fn.ReadOnly, trust: t}
}

// NoRetry tells go-redis not to send this command again by itself.
func (c *command) NoRetry() bool { return c.once }

// Args returns the command's words; of a command that was abandoned before it was written, those of one that does nothing.
func (c *command) Args() []any {
	c.reads.Add(1)
	if c.left.Load() {
		return nothing
	}
	return c.Cmd.Args()
}

var nothing = []any{"PING"}

// abandon keeps a command from being written that was not yet, and tells whether it surely was not.
func (c *command) abandon() (unwritten bool) {
	c.left.Store(true)
	return c.unread()
}

// SetErr is how go-redis tells a command its error.
func (c *command) SetErr(err error) {
	c.errRead.Store(c.reads.Load())
	if err != nil {
		if addr := redirection(err); addr != "" {
			c.moved.Store(&addr)
		}
	}
	c.Cmd.SetErr(err)
}

// redirected is the address to which a cluster sent the command on last, or "".
func (c *command) redirected() string {
	if addr := c.moved.Load(); addr != nil {
		return *addr
	}
	return ""
}

// redirection is the address in a MOVED or ASK, which go-redis follows by itself.
func redirection(err error) string {
	words := strings.Fields(err.Error())
	if len(words) != 3 || words[0] != "MOVED" && words[0] != "ASK" {
		return ""
	}
	return words[2]
}

// stale tells that the command may have been written after its error was set.
func (c *command) stale() bool { return c.reads.Load() > c.errRead.Load() }

// unread tells that the command was never written, as far as this can be seen.
func (c *command) unread() bool { return c.reads.Load() == 0 && c.trust.earned() }

// answered is called for each good reply.
func (c *command) answered() { c.trust.learn(c.reads.Load() > 0) }

// trust is whether a client's Caller asks for Args to write a command. That is how go-redis works today but no promise
// of it, so it is believed only once it was seen, and never again once a reply came without it.
type trust struct{ state atomic.Int32 }

const (
	trustUnknown = iota
	trustEarned
	trustLost
)

func (t *trust) earned() bool { return t.state.Load() == trustEarned }

func (t *trust) learn(asked bool) {
	switch {
	case !asked:
		t.state.Store(trustLost)
	case t.state.Load() == trustUnknown:
		t.state.CompareAndSwap(trustUnknown, trustEarned)
	}
}
