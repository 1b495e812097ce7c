package fcall

import (
	"errors"
	"fmt"
	"strings"
)

// What a failed call proves. Each error of this package that errors.Is one of these is also a struct for errors.As.
var (
	// ErrArgument: an argument is outside its bounds; nothing was written. *ArgumentError, ArgumentErrors.
	ErrArgument = errors.New("argument out of bounds")
	// ErrState: a key holds what the function can not read; nothing was written. *StateError.
	ErrState = errors.New("unreadable state")
	// ErrNotLoaded: the server does not have the function; nothing ran. *NotLoadedError.
	ErrNotLoaded = errors.New("library not loaded")
	// ErrReply: the call ran, but its reply is not what the header says. *ReplyError.
	ErrReply = errors.New("unreadable reply")
	// ErrUnavailable: nothing ran, or what ran can not write; the call may be repeated. *UnavailableError.
	ErrUnavailable = errors.New("nothing ran")
	// ErrRefused: the server turns this user away (NOPERM, NOAUTH, WRONGPASS); nothing ran. Also ErrUnavailable.
	ErrRefused = errors.New("no permission")
	// ErrUnsupported: the server has no FCALL; it needs Redis 7 or Valkey. Also ErrUnavailable.
	ErrUnsupported = errors.New("no functions on this server")
	// ErrOutcomeUnknown: the call may have run; repeating it may charge twice. *OutcomeError, *ScriptError.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrScript: the function itself failed. *ScriptError. Also ErrOutcomeUnknown unless the function is read-only.
	ErrScript = errors.New("function failed")
)

// An ArgumentError is one argument outside its bounds, found here before anything was sent, or by the server.
type ArgumentError struct {
	Function string // "ratelimit.gcra"
	Name     string // "limit", or "limits.0.limit" in a group
	Must     string // "be a whole number from 1 to 1000000"
	Got      string // "0"; "" when the server found it
}

// Error says which argument must be what.
func (e *ArgumentError) Error() string { return e.Function + ": " + e.text() }

func (e *ArgumentError) text() string {
	s := e.Name + " must " + e.Must
	if e.Got != "" {
		s += ", got " + e.Got
	}
	return s
}

// Is tells that this is an ErrArgument.
func (e *ArgumentError) Is(target error) bool { return target == ErrArgument }

// ArgumentErrors are two or more arguments of one call.
type ArgumentErrors []*ArgumentError

// Error says all of them on one line.
func (e ArgumentErrors) Error() string {
	texts := make([]string, len(e))
	for i, one := range e {
		texts[i] = one.text()
	}
	return e[0].Function + ": " + strings.Join(texts, "; ")
}

// Unwrap returns each of them.
func (e ArgumentErrors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// A StateError is a key of the wrong type or with unreadable content.
type StateError struct {
	Function string
	Key      string // the whole key; Error shortens the subject in it
	Problem  string // what is wrong with it
}

// Error names the key with its subject shortened.
func (e *StateError) Error() string {
	return fmt.Sprintf("%s: key %s: %s; delete the key to start anew", e.Function, shortKey(e.Key), e.Problem)
}

// Is tells that this is an ErrState.
func (e *StateError) Is(target error) bool { return target == ErrState }

// A NotLoadedError is a function that the server does not have.
type NotLoadedError struct {
	Function string
	Library  string // its name on the server, "ratelimit_v1"
	Found    string // the version of the library that is there without the function, or ""
	Absent   bool   // the server was asked, and holds no such library
	Healed   bool   // of a queued call: the library was loaded since, and the same call would find it now
	Cause    error  // why the client, or Options.OnNotLoaded, could not load it, or nil
}

// Error says what to run.
func (e *NotLoadedError) Error() string {
	switch {
	case e.Healed:
		return fmt.Sprintf("%s: %s was not loaded on this server, and is by now; nothing ran, so send the call again", e.Function, e.Library)
	case e.Found != "":
		return fmt.Sprintf("%s: the server holds %s %s, which has no such function; a client replaces nothing: run `rlfunc deploy`", e.Function, e.Library, e.Found)
	case e.Absent:
		return fmt.Sprintf("%s: %s is not loaded on this server; run `rlfunc deploy`", e.Function, e.Library)
	case e.Cause != nil:
		return fmt.Sprintf("%s: %s is not loaded on this server, and loading it did not help: %s", e.Function, e.Library, oneLine(e.Cause.Error()))
	}
	return fmt.Sprintf("%s: the server has no such function: %s is not loaded there, or in a version without it; run `rlfunc deploy`", e.Function, e.Library)
}

// Is tells that this is an ErrNotLoaded.
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

// Error says what came instead.
func (e *ReplyError) Error() string {
	field := e.Field
	if field == "" {
		field = "the reply"
	}
	return fmt.Sprintf("%s: %s must %s, got %s; does the server hold the library that this client was generated from?",
		e.Function, field, e.Must, e.Got)
}

// Is tells that this is an ErrReply.
func (e *ReplyError) Is(target error) bool { return target == ErrReply }

// A CodeError is an error that the function declares in its header, other than RLARG and RLSTATE.
type CodeError struct {
	Function string
	Code     string // "QUOTA"
	Text     string // what follows the code
}

// Error gives the code and its text.
func (e *CodeError) Error() string { return e.Function + ": " + strings.TrimSpace(e.Code+" "+e.Text) }
