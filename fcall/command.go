package fcall

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// A command is one FCALL. go-redis sends a command whose NoRetry is true at most once where it may have run; it still
// follows MOVED and ASK, which prove that nothing ran.
//
// It also watches what go-redis does with it, because an error alone can mislead. A cluster pipeline keeps a command's
// first error: a command that was MOVED, sent to the new node, run there, and whose reply was lost still says MOVED.
// So an error that is older than the last time that the command was written proves nothing.
type command struct {
	*redis.Cmd
	trust    *trust
	keys     int          // how many it has, see keyCount
	writes   atomic.Int32 // how often it was written
	errWrite atomic.Int32 // writes when the last error was set
	lastErr  error        // the last error that was set; go-redis sets it before it lets the caller go on
	left     atomic.Bool  // its caller has gone
	moved    atomic.Pointer[string]
	space    [8]byte // for the bytes of keys

	// Of a call that a lane's sender sends:
	ctx       context.Context
	done      chan struct{}
	queued    bool // it is for a sender to send; guarded by the lane
	withdrawn bool // its caller has gone before that
}

// A room is what a call takes in memory, beside its words: one allocation with them.
type room struct {
	first command
	taken bool // first: a second attempt has a command of its own, as the first may still be under way
	reply Reply
}

// command makes a command of a call's words.
func (r *room) command(ctx context.Context, t *trust, args []any) *command {
	c := &r.first
	if r.taken {
		c = new(command)
	}
	r.taken = true
	c.trust = t
	switch keys := args[cmdHead-1].(type) {
	case int:
		c.keys = keys
	case keyCount: // of the attempt before
		c.keys = keys.cmd.keys
	}
	args[cmdHead-1] = keyCount{c}
	c.Cmd = redis.NewCmd(ctx, args...)
	return c
}

// NoRetry keeps go-redis from sending the command again by itself: how often a call is sent is for send to say.
func (c *command) NoRetry() bool { return true }

// Args returns the command's words; of a command that was abandoned before it was written, those of one that does nothing.
func (c *command) Args() []any {
	if c.left.Load() {
		return nothing
	}
	return c.Cmd.Args()
}

var nothing = []any{"PING"}

// abandon keeps a command from being written that was not yet, and tells whether it surely was not.
func (c *command) abandon() (unwritten bool) {
	c.left.Store(true)
	return c.withdrawn || c.unwritten()
}

// SetErr is how go-redis tells a command its error. It may hand on an old one again, as it is or wrapped by a hook.
func (c *command) SetErr(err error) {
	if err == nil || c.lastErr == nil || !errors.Is(err, c.lastErr) {
		c.errWrite.Store(c.writes.Load())
	}
	c.lastErr = err
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
func (c *command) stale() bool { return c.writes.Load() > c.errWrite.Load() }

// unwritten tells that the command was never written, as far as this can be seen.
func (c *command) unwritten() bool { return c.writes.Load() == 0 && c.trust.earned() }

// answered is called for each good reply.
func (c *command) answered() { c.trust.learn(c.writes.Load() > 0) }

// trust is whether a client's Caller asks for a command's bytes to write it. That is how go-redis works today but no promise
// of it, so it is believed only once it was seen, and never again once a reply came without it.
type trust struct{ state atomic.Int32 }

const (
	trustUnknown = iota
	trustEarned
	trustLost
)

func (t *trust) earned() bool { return t.state.Load() == trustEarned }

func (t *trust) learn(wrote bool) {
	switch {
	case !wrote:
		t.state.Store(trustLost)
	case t.state.Load() == trustUnknown:
		t.state.CompareAndSwap(trustUnknown, trustEarned)
	}
}
