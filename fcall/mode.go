package fcall

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Mode is how a Client has its functions run. The two ways share their keys: they may be mixed at will.
type Mode int

// The modes.
const (
	// ModeAuto calls functions, and runs scripts on a node that answered that it has no FCALL; every 10 s one call asks again.
	ModeAuto Mode = iota
	// ModeFunctions calls functions only: a server without them is ErrUnsupported.
	ModeFunctions
	// ModeScripts sends the same Lua as scripts, one a function, by EVALSHA: for Redis before 7.0, KeyDB, Dragonfly and others.
	// Nothing needs to be deployed, and what runs is always the client's own version.
	ModeScripts
)

// absentFor is how long a client takes it that a node lacks a command; then one call tries again. A proxy may answer for a server
// that is gone, and a server may have been upgraded.
const absentFor = 10 * time.Second

// A node is what a client has seen of one node, by its address; where nodes cannot be distinguished it is the only one.
type node struct {
	noFunctions absence
	noReadOnly  absence  // it has no EVALSHA_RO
	known       sync.Map // digests of scripts that it has run
}

// An absence is a command that a node answered to be unknown. The zero absence is none.
type absence struct{ until atomic.Int64 }

// holds reports whether the command is to be done without. When the time is over it is false once, for the call that tries again.
func (a *absence) holds(now time.Time) bool {
	until := a.until.Load()
	if until == 0 {
		return false
	}
	return now.UnixNano() < until || !a.until.CompareAndSwap(until, now.Add(absentFor).UnixNano())
}

func (a *absence) begin(now time.Time) { a.until.Store(now.Add(absentFor).UnixNano()) }

func (a *absence) end() {
	if a.until.Load() != 0 {
		a.until.Store(0)
	}
}

// A form is how one call is sent; what its earlier attempts have shown stays with it.
type form struct {
	scripted, whole, noReadOnly bool
	node                        *node // nil for a function of a client that has met no node without them
}

// use writes the first words of a call: FCALL and the function, or EVALSHA and the script's digest, or EVAL and its text.
func (c *Client) use(ctx context.Context, fn *Function, args []any, f *form) {
	args[0], args[1] = "FCALL", fn.word
	if fn.ReadOnly {
		args[0] = "FCALL_RO"
	}
	if c.mode == ModeFunctions || c.mode == ModeAuto && !c.lacking.Load() {
		return
	}
	if f.node == nil {
		f.node = c.nodeAt(nodeOf(ctx, c.caller, args))
	}
	now := c.now()
	f.scripted = f.scripted || c.mode == ModeScripts || f.node.noFunctions.holds(now)
	if !f.scripted {
		return
	}
	s := c.scripts.of(fn)
	args[0], args[1] = "EVALSHA", s.digest
	if f.whole {
		args[0], args[1] = "EVAL", s.text
	}
	if f.noReadOnly = f.noReadOnly || fn.ReadOnly && f.node.noReadOnly.holds(now); fn.ReadOnly && !f.noReadOnly {
		args[0] = args[0].(string) + "_RO"
	}
}

func (c *Client) nodeAt(address string) *node {
	if n, ok := c.nodes.Load(address); ok {
		return n.(*node)
	}
	n, _ := c.nodes.LoadOrStore(address, new(node))
	return n.(*node)
}

// adapt learns from an error that proves that nothing ran, and tells whether the call is worth sending again in another
// form: as a script where there are no functions, without _RO before Redis 7.0, and with its text where the server does
// not know the script (yet, or after a restart).
func (c *Client) adapt(ctx context.Context, fn *Function, cmd *command, err error, f *form) bool {
	var u *UnavailableError
	if !errors.As(err, &u) {
		return false
	}
	at := f.node
	if address := cmd.redirected(); address != "" || at == nil {
		if address == "" {
			address = nodeOf(ctx, c.caller, cmd.Cmd.Args())
		}
		at = c.nodeAt(address)
	}
	switch verb, _ := cmd.Cmd.Args()[0].(string); {
	case u.kind == ErrUnsupported && (verb == "FCALL" || verb == "FCALL_RO"):
		if c.mode != ModeAuto {
			return false
		}
		at.noFunctions.begin(c.now())
		c.lacking.Store(true)
		f.node, f.scripted = at, true
		return true
	case u.kind == ErrUnsupported && (verb == "EVALSHA_RO" || verb == "EVAL_RO"):
		at.noReadOnly.begin(c.now())
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

// ran is called for each good reply: a node has the commands that it has run, and keeps a script.
func (c *Client) ran(fn *Function, f *form) {
	switch {
	case f.node == nil:
	case f.scripted:
		f.node.known.Store(c.scripts.of(fn).digest, true)
		if fn.ReadOnly && !f.noReadOnly {
			f.node.noReadOnly.end()
		}
	default:
		f.node.noFunctions.end()
	}
}
