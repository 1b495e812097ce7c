package fcall

import (
	"fmt"
)

// An UnavailableError is a call of which nothing ran, or which can not write. It may be repeated.
type UnavailableError struct {
	Function string
	Code     string // first word of the server's reply, "LOADING"; "" when none came
	Server   string // the server's whole reply, or ""
	Attempts int    // how often the call was sent or tried
	Hint     string // what to do, or ""
	Cause    error  // what go-redis or the context said
	kind     error  // ErrRefused, ErrUnsupported or nil
	readOnly bool   // it may have run, but can not have written
}

// Error says why, and what to do where that is known.
func (e *UnavailableError) Error() string {
	s := e.Function + ": nothing ran"
	if e.readOnly {
		s = e.Function + ": no answer, and nothing written"
	}
	if e.Attempts > 1 {
		s = fmt.Sprintf("%s in %d attempts", s, e.Attempts)
	}
	// The server quotes the first arguments of a command that it does not know, a key among them.
	if e.Cause != nil && e.kind != ErrUnsupported {
		s += ": " + oneLine(e.Cause.Error())
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Is tells that this is an ErrUnavailable, and whether it is an ErrRefused or ErrUnsupported.
func (e *UnavailableError) Is(target error) bool {
	return target == ErrUnavailable || e.kind != nil && target == e.kind
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Cause }

// An OutcomeError is a call that may have run: its reply was lost, or is an error that may follow a write.
type OutcomeError struct {
	Function string
	Code     string // first word of the server's reply, or "" when none came
	Server   string // the server's whole reply, or ""
	Cause    error
	late     *Pending // the call, if its caller has left
}

// Error says why the outcome is unknown.
func (e *OutcomeError) Error() string {
	return fmt.Sprintf("%s: outcome unknown, it may have run: %s", e.Function, oneLine(e.Cause.Error()))
}

// Is tells that this is an ErrOutcomeUnknown.
func (e *OutcomeError) Is(target error) bool { return target == ErrOutcomeUnknown }

// Unwrap returns the cause.
func (e *OutcomeError) Unwrap() error { return e.Cause }

// A ScriptError is a failure inside the function, at the author's own line where the server tells one.
type ScriptError struct {
	Function string
	File     string // "ratelimit/gcra.lua"; "" for generated code or when the server tells no line
	Line     int    // of File, or of the bundle when File is ""; 0 when the server tells none
	Code     string // first word of the server's reply, "ERR"
	Text     string // what went wrong, without the server's own positions
	Server   string // the server's whole reply
	ReadOnly bool   // the function can not write, so the outcome is known
	Hint     string // what to do, or ""
	Cause    error
}

// Error starts with the author's file and line.
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

// Is tells that this is an ErrScript, and an ErrOutcomeUnknown if the function writes.
func (e *ScriptError) Is(target error) bool {
	return target == ErrScript || target == ErrOutcomeUnknown && !e.ReadOnly
}

// Unwrap returns what go-redis said.
func (e *ScriptError) Unwrap() error { return e.Cause }
