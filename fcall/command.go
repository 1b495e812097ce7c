package fcall

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// A command is one FCALL. go-redis sends a command whose NoRetry is true at most once if it may have run. It still follows
// MOVED and ASK, which prove that nothing ran.
//
// A command also records what go-redis does with it, because an error alone can mislead. A cluster pipeline keeps a command's
// first error: a command that was MOVED, sent to the new node and run there, and whose reply was lost, still says MOVED. So an
// error that is older than the last write of the command proves nothing.
type command struct {
	*redis.Cmd
	signal    *writeSignal
	keys      int          // number of keys, see keyCount
	writes    atomic.Int32 // how often its bytes were written
	errWrite  atomic.Int32 // writes when the last error was set
	lastErr   error        // the last error that go-redis set, before Process returned
	abandoned atomic.Bool  // its caller no longer waits
	moved     atomic.Pointer[string]
	space     [8]byte // for the text of keys

	// Fields of a call in a nodeQueue:
	ctx       context.Context
	done      chan struct{}
	queued    bool // in the queue; guarded by the nodeQueue
	withdrawn bool // abandoned while queued
}

// callBuffers hold a call's command and reply in one allocation with its words.
type callBuffers struct {
	first command
	taken bool // first is in use: another attempt needs its own command, because the first may still be in flight
	reply Reply
}

// command returns the command of one attempt.
func (r *callBuffers) command(ctx context.Context, t *writeSignal, args []any) *command {
	c := &r.first
	if r.taken {
		c = new(command)
	}
	r.taken = true
	c.signal = t
	switch keys := args[cmdHead-1].(type) {
	case int:
		c.keys = keys
	case keyCount: // of the attempt before
		c.keys = keys.cmd.keys
	}
	args[cmdHead-1] = keyCount{c}
	c.Cmd = redis.NewCmd(ctx, args...)
	if c.keys > 0 { // else a cluster's client that may not run COMMAND takes the function's name for the key
		c.SetFirstKeyPos(cmdHead)
	}
	return c
}

// NoRetry keeps go-redis from sending the command again. Client.send decides about retries.
func (c *command) NoRetry() bool { return true }

// Args returns the command's words, or those of a PING if the command was abandoned before it was written.
func (c *command) Args() []any {
	if c.abandoned.Load() {
		return nothing
	}
	return c.Cmd.Args()
}

var nothing = []any{"PING"}

// abandon prevents a command that was not written yet from being written, and reports whether it certainly was not.
func (c *command) abandon() (unwritten bool) {
	c.abandoned.Store(true)
	return c.withdrawn || c.unwritten()
}

// SetErr records an error from go-redis, which may pass on an old one, unchanged or wrapped by a hook.
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

// redirected returns the address to which a cluster last redirected the command, or "".
func (c *command) redirected() string {
	if addr := c.moved.Load(); addr != nil {
		return *addr
	}
	return ""
}

// redirection returns the address in a MOVED or ASK, which go-redis follows itself.
func redirection(err error) string {
	words := strings.Fields(err.Error())
	if len(words) != 3 || words[0] != "MOVED" && words[0] != "ASK" {
		return ""
	}
	return words[2]
}

// stale reports whether the command may have been written after its error was set.
func (c *command) stale() bool { return c.writes.Load() > c.errWrite.Load() }

// unwritten reports whether the command was never written, as far as that is visible.
func (c *command) unwritten() bool { return c.writes.Load() == 0 && c.signal.seen() }

// answered records a successful reply.
func (c *command) answered() { c.signal.observe(c.writes.Load() > 0) }

// A delivery is what is known of a call that was to be sent.
type delivery int

const (
	replied    delivery = iota // the server answered, possibly with an error
	notSent                    // nothing ran
	mayHaveRun                 // the reply was lost, or is older than the last write
)

// A result is how a call ended. It is all that classify knows about the client below.
type result struct {
	delivery delivery
	reply    any
	err      error
	sent     int  // number of writes, including redirections
	late     bool // its context ended first
}

// result returns the result of a command that has ended with err, or nil.
func (c *command) result(err error) result {
	r := result{err: err, sent: int(c.writes.Load())}
	switch {
	case err == nil:
		c.answered()
		r.reply = c.Val()
	case c.stale():
		r.delivery = mayHaveRun
	case isReply(err) && (r.sent > 0 || !errors.Is(err, redis.Nil)):
	case neverSent(err) || c.unwritten() || errors.Is(err, redis.ErrClosed) && r.sent == 0:
		r.delivery = notSent
	default:
		r.delivery = mayHaveRun
	}
	return r
}

// late returns the result of a command whose context ended before its reply came.
func (c *command) late(ctx context.Context) result {
	if c.abandon() {
		return result{delivery: notSent, err: ctx.Err(), late: true}
	}
	return result{delivery: mayHaveRun, err: ctx.Err(), late: true}
}

// neverSent reports whether an error occurred before the command reached a connection.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" ||
		errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted)
}

func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// A writeSignal records whether a client's Caller asks for a command's bytes to write it. go-redis does so today but does not
// promise it. So the signal counts only once it was seen, and never again after a reply came without it.
type writeSignal struct{ state atomic.Int32 }

const (
	signalUnknown = iota
	signalSeen
	signalMissing
)

func (s *writeSignal) seen() bool { return s.state.Load() == signalSeen }

func (s *writeSignal) observe(wrote bool) {
	switch {
	case !wrote:
		s.state.Store(signalMissing)
	case s.state.Load() == signalUnknown:
		s.state.CompareAndSwap(signalUnknown, signalSeen)
	}
}

// A keyCount is the third word of a call, its number of keys. go-redis asks for its bytes when it writes the call to a
// connection; nothing else reveals a write, because hooks and a cluster's router read Args too.
type keyCount struct{ cmd *command }

// String returns the number, for hooks that log commands, and for the router.
func (k keyCount) String() string { return strconv.Itoa(k.cmd.keys) }

// MarshalBinary returns the number. For a call that was abandoned before it was written it returns one that makes the server
// run nothing.
func (k keyCount) MarshalBinary() ([]byte, error) {
	c := k.cmd
	c.writes.Add(1)
	if c.abandoned.Load() {
		return []byte("-1"), nil
	}
	return strconv.AppendInt(c.space[:0], int64(c.keys), 10), nil
}

// NewToken returns an unguessable, unique token: 26 characters of base 32, with at least 128 bits from the system's random
// source. It is safe for concurrent use.
func NewToken() string { return rand.Text() }
