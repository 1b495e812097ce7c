package fcall

import (
	"errors"
	"strings"
)

// A Mode is how a Client has its functions run. The two ways share their keys: they may be mixed at will.
type Mode int

// The modes.
const (
	// ModeAuto calls functions, and from the first answer on that the server has no FCALL, runs scripts.
	ModeAuto Mode = iota
	// ModeFunctions calls functions only: a server without them is ErrUnsupported.
	ModeFunctions
	// ModeScripts sends the same Lua as scripts, one a function, by EVALSHA: for Redis before 7.0, KeyDB, Dragonfly and others.
	// Nothing needs to be deployed, and what runs is always the client's own version.
	ModeScripts
)

// use writes the first words of a call: FCALL and the function, or EVALSHA and the script's digest, or EVAL and its text.
func (c *Client) use(fn *Function, args []any, whole bool) {
	if !c.scripted.Load() {
		args[0], args[1] = "FCALL", fn.ServerName
		if fn.ReadOnly {
			args[0] = "FCALL_RO"
		}
		return
	}
	s := c.scripts.of(fn)
	args[0], args[1] = "EVALSHA", s.digest
	if whole {
		args[0], args[1] = "EVAL", s.text
	}
	if fn.ReadOnly && !c.noReadOnly.Load() {
		args[0] = args[0].(string) + "_RO"
	}
}

// adapt learns from an error that proves that nothing ran, and tells whether the call is worth sending again in another
// form: as a script where there are no functions, without _RO before Redis 7.0, and with its text where the server does
// not know the script (yet, or after a restart).
func (c *Client) adapt(fn *Function, cmd *command, err error, whole *bool) bool {
	var u *UnavailableError
	if !errors.As(err, &u) {
		return false
	}
	switch verb, _ := cmd.Cmd.Args()[0].(string); {
	case u.kind == ErrUnsupported && (verb == "FCALL" || verb == "FCALL_RO"):
		if c.mode != ModeAuto {
			return false
		}
		c.scripted.Store(true)
		return true
	case u.kind == ErrUnsupported && (verb == "EVALSHA_RO" || verb == "EVAL_RO"):
		c.noReadOnly.Store(true)
		return true
	case u.Code == "NOSCRIPT" && strings.HasPrefix(verb, "EVALSHA"):
		c.scripts.of(fn).known.Store(false)
		again := !*whole
		*whole = true
		return again
	}
	return false
}

// ran is called for each good reply: a server keeps a script that it has run.
func (c *Client) ran(fn *Function) {
	if c.scripted.Load() {
		c.scripts.of(fn).known.Store(true)
	}
}
