package fcall

import (
	"errors"
	"fmt"
	"strings"
)

// Errors that say what a failed call proves. Every error of this package that errors.Is one of them is also a struct for
// errors.As.
var (
	// ErrArgument: an argument is outside its bounds; nothing was written. *ArgumentError.
	ErrArgument = errors.New("argument out of bounds")
	// ErrState: a key holds content that the function cannot read; nothing was written. *StateError.
	ErrState = errors.New("unreadable state")
	// ErrNotLoaded: the server does not have the function; nothing ran. *NotLoadedError.
	ErrNotLoaded = errors.New("library not loaded")
	// ErrReply: the call ran, but its reply does not follow the header. *ReplyError.
	ErrReply = errors.New("unreadable reply")
	// ErrUnavailable: nothing ran, or nothing was written; the call may be repeated. *UnavailableError.
	ErrUnavailable = errors.New("nothing ran")
	// ErrNoPermission: the server denies the call to this user (NOPERM, NOAUTH, WRONGPASS); nothing ran. Also ErrUnavailable.
	ErrNoPermission = errors.New("no permission")
	// ErrUnsupported: the server has no FCALL, which needs Redis 7 or Valkey, or refuses FUNCTION; nothing ran. Also ErrUnavailable.
	ErrUnsupported = errors.New("no functions on this server")
	// ErrOutcomeUnknown: the call may have run; repeating it may charge twice. *OutcomeError, *ScriptError.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrScript: the function itself failed. *ScriptError. Also ErrOutcomeUnknown, unless the function is read-only.
	ErrScript = errors.New("function failed")
)

// An ArgumentError is the first argument that the server, or guard before it calls one, finds outside its bounds.
type ArgumentError struct {
	Function string // "ratelimit.gcra"
	Name     string // "limit", or "limits.0.limit" in a group
	Must     string // "be a whole number from 1 to 1000000"
	Got      string // "0"; "" when the server found it, which does not repeat what callers send
}

// Error returns the function, the argument and its bounds.
func (e *ArgumentError) Error() string {
	s := e.Function + ": " + e.Name + " must " + e.Must
	if e.Got != "" {
		s += ", got " + e.Got
	}
	return s
}

// Is reports whether target is ErrArgument.
func (e *ArgumentError) Is(target error) bool { return target == ErrArgument }

// A StateError is a key of the wrong type or with unreadable content.
type StateError struct {
	Function string
	Key      string // the whole key; Error shortens the subject in it
	Problem  string // what is wrong with it
}

// Error names the key with its subject shortened.
func (e *StateError) Error() string {
	return fmt.Sprintf("%s: key %s: %s; delete the key to reset it", e.Function, shortKey(e.Key), e.Problem)
}

// Is reports whether target is ErrState.
func (e *StateError) Is(target error) bool { return target == ErrState }

// A NotLoadedError is a function that the server does not have.
type NotLoadedError struct {
	Function  string
	Library   string // its name on the server, "ratelimit_v1"
	NowLoaded bool   // of a queued call: the library was loaded since, so sending the call again would succeed
	Cause     error  // why auto-load did not help, or nil
}

// Error says why the function is missing and what to do.
func (e *NotLoadedError) Error() string {
	switch {
	case e.NowLoaded:
		return fmt.Sprintf("%s: %s was missing on this server and is loaded now; nothing ran, so send the call again", e.Function, e.Library)
	case e.Cause != nil:
		return fmt.Sprintf("%s: %s is not loaded on this server, and auto-load did not help: %s", e.Function, e.Library, oneLine(e.Cause.Error()))
	}
	return fmt.Sprintf("%s: %s is not loaded on this server, or in a version without this function; run `rlfunc deploy`", e.Function, e.Library)
}

// Is reports whether target is ErrNotLoaded.
func (e *NotLoadedError) Is(target error) bool { return target == ErrNotLoaded }

// Unwrap returns the cause.
func (e *NotLoadedError) Unwrap() error { return e.Cause }

// A ReplyError is a reply that does not follow the function's header. The call ran.
type ReplyError struct {
	Function string
	Field    string // "retry_after", "results.2.allowed", or "" for the reply as a whole
	Must     string // "be a whole number from 0 to 9007199254740992"
	Got      string // "text of 3 bytes"
}

// Error returns the field, its form and what the server sent.
func (e *ReplyError) Error() string {
	field := e.Field
	if field == "" {
		field = "the reply"
	}
	return fmt.Sprintf("%s: %s must %s, got %s; the server's library may differ from the one that this client was generated from",
		e.Function, field, e.Must, e.Got)
}

// Is reports whether target is ErrReply.
func (e *ReplyError) Is(target error) bool { return target == ErrReply }

// A CodeError is an error that the function declares in its header, other than RLARG and RLSTATE.
type CodeError struct {
	Function string
	Code     string // "QUOTA"
	Text     string // what follows the code
}

// Error returns the code and its text.
func (e *CodeError) Error() string { return e.Function + ": " + strings.TrimSpace(e.Code+" "+e.Text) }

// Is reports whether target is a *CodeError with e's Code, and with e's Function and Text where target sets them:
// errors.Is(err, &fcall.CodeError{Code: "QUOTA"}).
func (e *CodeError) Is(target error) bool {
	want, ok := target.(*CodeError)
	return ok && want.Code == e.Code &&
		(want.Function == "" || want.Function == e.Function) && (want.Text == "" || want.Text == e.Text)
}

// An UnavailableError is a call that did not run, or that is read-only. It may be repeated.
type UnavailableError struct {
	Function string
	Code     string // first word of the server's reply, such as "LOADING", or ""
	Attempts int    // how often the call was sent or tried
	Hint     string // what to do, or ""
	Cause    error  // the error of go-redis or the context
	kind     error  // ErrNoPermission, ErrUnsupported or nil
	readOnly bool   // the call may have run, but cannot have written
}

// Error says why, and what to do if that is known.
func (e *UnavailableError) Error() string {
	s := e.Function + ": nothing ran"
	if e.readOnly {
		s = e.Function + ": no answer, and nothing written"
	}
	if e.Attempts > 1 {
		s = fmt.Sprintf("%s in %d attempts", s, e.Attempts)
	}
	// For an unknown command the server quotes the first arguments, which include a key.
	if e.Cause != nil && e.kind != ErrUnsupported {
		s += ": " + oneLine(e.Cause.Error())
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Is reports whether target is ErrUnavailable, or ErrNoPermission or ErrUnsupported if that is the reason.
func (e *UnavailableError) Is(target error) bool {
	return target == ErrUnavailable || e.kind != nil && target == e.kind
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Cause }

// An OutcomeError is a call that may have run: its reply was lost, or is an error that may follow a write.
type OutcomeError struct {
	Function string
	Code     string // first word of the server's reply, or ""
	Cause    error
}

// Error says why the outcome is unknown.
func (e *OutcomeError) Error() string {
	return fmt.Sprintf("%s: outcome unknown, it may have run: %s", e.Function, oneLine(e.Cause.Error()))
}

// Is reports whether target is ErrOutcomeUnknown.
func (e *OutcomeError) Is(target error) bool { return target == ErrOutcomeUnknown }

// Unwrap returns the cause.
func (e *OutcomeError) Unwrap() error { return e.Cause }

// A ScriptError is a failure inside the function, with the author's line if the server reports one.
type ScriptError struct {
	Function string
	File     string // "ratelimit/gcra.lua"; "" for generated code and without a line
	Line     int    // of File, or of the bundle if File is ""; 0 if the server reports none
	Code     string // first word of the server's reply, "ERR"
	Text     string // the message, without the server's positions
	ReadOnly bool   // the function cannot write, so the outcome is known
	Hint     string // what to do, or ""
	Cause    error
}

// Error begins with the author's file and line.
func (e *ScriptError) Error() string {
	at := ""
	switch {
	case e.File != "":
		at = fmt.Sprintf("%s:%d: ", e.File, e.Line)
	case e.Line > 0:
		at = fmt.Sprintf("bundle line %d: ", e.Line)
	}
	s := e.Function + ": " + at + oneLine(e.Text)
	if !e.ReadOnly {
		s += " (outcome unknown, it may have written)"
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Is reports whether target is ErrScript, or ErrOutcomeUnknown if the function writes.
func (e *ScriptError) Is(target error) bool {
	return target == ErrScript || target == ErrOutcomeUnknown && !e.ReadOnly
}

// Unwrap returns the error of go-redis.
func (e *ScriptError) Unwrap() error { return e.Cause }
