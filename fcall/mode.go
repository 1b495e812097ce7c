package fcall

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Mode selects how a Client runs its functions. Both ways use the same keys and may be mixed.
type Mode int

// The modes.
const (
	// ModeAuto calls functions, or runs scripts on a node that has no FCALL, or that lacks the library and refuses FUNCTION. Every
	// 10 s one call tries FCALL again.
	ModeAuto Mode = iota
	// ModeFunctions calls functions only. A server without them is ErrUnsupported.
	ModeFunctions
	// ModeScripts runs the same Lua as scripts, one for each function, with EVALSHA: for Redis before 7.0, KeyDB, Dragonfly and
	// others. Nothing is deployed; each client runs its own version.
	ModeScripts
)

// missingFor is how long a client assumes that a node lacks a command; then one call tries again. A proxy may answer for a dead
// server, and a server may be upgraded.
const missingFor = 10 * time.Second

// A nodeState is what a client knows about one node, by address. If nodes cannot be distinguished there is only one.
type nodeState struct {
	noFunctions missingCommand
	noReadOnly  missingCommand // no EVALSHA_RO
	known       sync.Map       // digests of scripts that the node has run
}

// A missingCommand records that a node lacks a command. The zero value means that it does not.
type missingCommand struct{ until atomic.Int64 }

// active reports whether callers should avoid the command. After missingFor it reports false once, for the call that tries
// again.
func (a *missingCommand) active(now time.Time) bool {
	until := a.until.Load()
	if until == 0 {
		return false
	}
	return now.UnixNano() < until || !a.until.CompareAndSwap(until, now.Add(missingFor).UnixNano())
}

func (a *missingCommand) record(now time.Time) { a.until.Store(now.Add(missingFor).UnixNano()) }

func (a *missingCommand) clear() {
	if a.until.Load() != 0 {
		a.until.Store(0)
	}
}

// A form is how one call is sent, as its earlier attempts have decided.
type form struct {
	scripted, whole, noReadOnly bool
	node                        *nodeState // nil until a node lacked functions
}

// setVerb writes the first two words of a call: FCALL and the function, EVALSHA and the script's digest, or EVAL and its text.
func (c *Client) setVerb(ctx context.Context, fn *Function, args []any, f *form) {
	args[0], args[1] = "FCALL", fn.word
	if fn.ReadOnly {
		args[0] = "FCALL_RO"
	}
	if c.mode == ModeFunctions || c.mode == ModeAuto && !c.lacksFunctions.Load() {
		return
	}
	if f.node == nil {
		f.node = c.stateOf(addrOf(ctx, c.caller, args))
	}
	now := c.now()
	f.scripted = f.scripted || c.mode == ModeScripts || f.node.noFunctions.active(now)
	if !f.scripted {
		return
	}
	s := c.scripts.of(fn)
	args[0], args[1] = "EVALSHA", s.digest
	if f.whole {
		args[0], args[1] = "EVAL", s.text
	}
	if f.noReadOnly = f.noReadOnly || fn.ReadOnly && f.node.noReadOnly.active(now); fn.ReadOnly && !f.noReadOnly {
		args[0] = args[0].(string) + "_RO"
	}
}

func (c *Client) stateOf(address string) *nodeState {
	if n, ok := c.nodes.Load(address); ok {
		return n.(*nodeState)
	}
	n, _ := c.nodes.LoadOrStore(address, new(nodeState))
	return n.(*nodeState)
}

// switchForm reports whether a call that failed, without having run, is worth sending in another form: as a script if the node
// lacks functions, without _RO before Redis 7.0, and with its text if the node does not know the script.
func (c *Client) switchForm(ctx context.Context, fn *Function, cmd *command, err error, f *form) bool {
	var u *UnavailableError
	if !errors.As(err, &u) {
		return false
	}
	at := f.node
	if address := cmd.redirected(); address != "" || at == nil {
		if address == "" {
			address = addrOf(ctx, c.caller, cmd.Cmd.Args())
		}
		at = c.stateOf(address)
	}
	switch verb, _ := cmd.Cmd.Args()[0].(string); {
	case u.kind == ErrUnsupported && (verb == "FCALL" || verb == "FCALL_RO"):
		if c.mode != ModeAuto {
			return false
		}
		at.noFunctions.record(c.now())
		c.lacksFunctions.Store(true)
		f.node, f.scripted = at, true
		return true
	case u.kind == ErrUnsupported && (verb == "EVALSHA_RO" || verb == "EVAL_RO"):
		at.noReadOnly.record(c.now())
		f.node, f.noReadOnly = at, true
		return true
	case u.Code == "NOSCRIPT" && strings.HasPrefix(verb, "EVALSHA"):
		at.known.Delete(c.scripts.of(fn).digest)
		again := !f.whole
		f.node, f.whole = at, true
		return again
	}
	return false
}

// recordSuccess is called for each successful reply: the node has the commands that it ran, and keeps the script.
func (c *Client) recordSuccess(fn *Function, f *form) {
	c.transport.answered()
	switch {
	case f.node == nil:
	case f.scripted:
		f.node.known.Store(c.scripts.of(fn).digest, true)
		if fn.ReadOnly && !f.noReadOnly {
			f.node.noReadOnly.clear()
		}
	default:
		f.node.noFunctions.clear()
	}
}
