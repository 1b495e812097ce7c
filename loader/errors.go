package loader

import (
	"context"
	"strings"
)

// A Reason is the kind of an Error. Reasons are errors, so errors.Is(err, loader.ErrReadOnly) works on every error of this
// package. In JSON they are strings.
type Reason string

// The reasons.
const (
	// ErrUnreachable: no connection to the node, or no answer in time.
	ErrUnreachable Reason = "unreachable"
	// ErrNoFunctions: the server has no FUNCTION commands: Redis before 7.0, another product, or a managed server that refuses them.
	ErrNoFunctions Reason = "no_functions"
	// ErrTooOld: the server is older than the library requires, or another product.
	ErrTooOld Reason = "too_old"
	// ErrNoPermission: the user lacks a permission or is unknown.
	ErrNoPermission Reason = "no_permission"
	// ErrReadOnly: the node is a replica.
	ErrReadOnly Reason = "read_only"
	// ErrOutOfMemory: the server is over its maxmemory and loads nothing.
	ErrOutOfMemory Reason = "out_of_memory"
	// ErrBusy: a script or function runs too long and blocks the server.
	ErrBusy Reason = "busy"
	// ErrLoading: the server is still reading its data after a start.
	ErrLoading Reason = "loading"
	// ErrNotWritable: the server refuses writes at the moment for another reason.
	ErrNotWritable Reason = "not_writable"
	// ErrTooSlow: the library did not load within the server's limit of 500 ms.
	ErrTooSlow Reason = "too_slow"
	// ErrRejected: the server refuses the code, or its reply is malformed.
	ErrRejected Reason = "rejected"
	// ErrOutcomeUnknown: the connection broke during a load; the library may be loaded or not.
	ErrOutcomeUnknown Reason = "outcome_unknown"
	// ErrConflict: another library has the library's name or the name of one of its functions.
	ErrConflict Reason = "conflict"
	// ErrDrifted: the node has the same version with other bytes.
	ErrDrifted Reason = "drifted"
	// ErrOlder: the node has an older version, which only a deploy replaces.
	ErrOlder Reason = "older"
	// ErrReplication: a replica does not hold its primary's library.
	ErrReplication Reason = "replication"
	// ErrChanged: the libraries or the server changed since they were read.
	ErrChanged Reason = "changed"
	// ErrLocked: another deployer is at work; the error's Lock names it.
	ErrLocked Reason = "locked"
	// ErrLockLost: a lock expired or was removed during the operation. Nothing was changed on its node after that.
	ErrLockLost Reason = "lock_lost"
	// ErrNoRecord: no release is recorded to roll back to.
	ErrNoRecord Reason = "no_record"
	// ErrInUse: the library has recent clients.
	ErrInUse Reason = "in_use"
	// ErrInterrupted: the context was cancelled; nothing was sent after that.
	ErrInterrupted Reason = "interrupted"
	// ErrRetired: the library was retired; only a deploy or a rollback restores it.
	ErrRetired Reason = "retired"
	// ErrLibrary: the given library is inconsistent.
	ErrLibrary Reason = "bad_library"
	// ErrPlan: the plan is invalid.
	ErrPlan Reason = "bad_plan"
	// ErrURL: the URL is malformed.
	ErrURL Reason = "bad_url"
	// ErrUnsupported: this kind of client or URL is not a target.
	ErrUnsupported Reason = "unsupported"
)

// Error returns the reason with spaces.
func (r Reason) Error() string { return strings.ReplaceAll(string(r), "_", " ") }

// An Error is one failure, on one line. errors.Is finds its Reason and its Cause.
type Error struct {
	Op      string `json:"op"`                // "load"
	Library string `json:"library,omitempty"` // "ratelimit_v1"
	Node    string `json:"node,omitempty"`    // "127.0.0.1:7001"
	Reason  Reason `json:"reason"`
	Text    string `json:"text"`           // what failed, why, and what to do
	Lock    *Lock  `json:"lock,omitempty"` // of ErrLocked
	Cause   error  `json:"-"`
}

// Error returns the whole text, `load ratelimit_v1 on 127.0.0.1:7001: ...`.
func (e *Error) Error() string {
	s := e.Op
	if e.Library != "" {
		s += " " + e.Library
	}
	if e.Node != "" {
		s += " on " + e.Node
	}
	return s + ": " + oneLine(e.Text)
}

// Is reports whether target is e's Reason.
func (e *Error) Is(target error) bool { return target == e.Reason }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// at returns e as part of another operation.
func (e *Error) at(op, library string) *Error {
	again := *e
	again.Op, again.Library = op, library
	return &again
}

var newlines = strings.NewReplacer("\r\n", " ", "\r", " ", "\n", " ")

func oneLine(s string) string { return strings.TrimSpace(newlines.Replace(s)) }

// interrupted returns the error of a step that was not tried because its context ended.
func interrupted(ctx context.Context, op, library, node string) *Error {
	return &Error{Op: op, Library: library, Node: node, Reason: ErrInterrupted, Cause: ctx.Err(), Text: "not tried: " + plainText(ctx.Err())}
}
