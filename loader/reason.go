package loader

import (
	"strings"
)

// A Reason says in one word why something can not be done. Reasons are errors, so errors.Is(err, loader.ErrReadOnly) works
// on every error of this package; as JSON they are plain strings.
type Reason string

// The reasons.
const (
	// ErrUnreachable: no connection to the node, or no answer in time.
	ErrUnreachable Reason = "unreachable"
	// ErrNoFunctions: the server has no FUNCTION commands: Redis before 7.0, or another product.
	ErrNoFunctions Reason = "no_functions"
	// ErrNoPermission: the user may not do it, or is not known.
	ErrNoPermission Reason = "no_permission"
	// ErrReadOnly: the node is a replica.
	ErrReadOnly Reason = "read_only"
	// ErrOutOfMemory: the server is over its maxmemory and loads nothing.
	ErrOutOfMemory Reason = "out_of_memory"
	// ErrBusy: a script or function runs for too long and blocks the server.
	ErrBusy Reason = "busy"
	// ErrLoading: the server reads its data after a start.
	ErrLoading Reason = "loading"
	// ErrNotWritable: the server takes no writes at the moment, for another reason than the above.
	ErrNotWritable Reason = "not_writable"
	// ErrTooSlow: the library did not load within the 500 ms that a server gives it.
	ErrTooSlow Reason = "too_slow"
	// ErrRejected: the server refuses the code, or answered what can not be understood.
	ErrRejected Reason = "rejected"
	// ErrOutcomeUnknown: the connection broke while the library was loading; it may be there or come to be.
	ErrOutcomeUnknown Reason = "outcome_unknown"
	// ErrConflict: a library or function name is held by something that is not ours.
	ErrConflict Reason = "conflict"
	// ErrDrifted: the same version with other bytes.
	ErrDrifted Reason = "drifted"
	// ErrOlder: an older version is there, and a service does not replace it.
	ErrOlder Reason = "older"
	// ErrReplication: a replica does not hold what its primary holds.
	ErrReplication Reason = "replication"
	// ErrMoved: the server does not hold any more what the plan was made for.
	ErrMoved Reason = "moved"
	// ErrLocked: another deployer is at work; the error's Lock says who.
	ErrLocked Reason = "locked"
	// ErrLockLost: a lock expired or was removed during the operation. Nothing was changed on its node since.
	ErrLockLost Reason = "lock_lost"
	// ErrNoRecord: nothing is recorded to roll back to.
	ErrNoRecord Reason = "no_record"
	// ErrInUse: clients of the library were seen lately.
	ErrInUse Reason = "in_use"
	// ErrInterrupted: the context was cancelled; nothing was sent after that.
	ErrInterrupted Reason = "interrupted"
	// ErrRetired: the library was retired; only a deploy or a rollback brings it back.
	ErrRetired Reason = "retired"
	// ErrLibrary: the library that was given contradicts itself.
	ErrLibrary Reason = "bad_library"
	// ErrPlan: the plan can not be used.
	ErrPlan Reason = "bad_plan"
	// ErrURL: the URL is malformed.
	ErrURL Reason = "bad_url"
	// ErrUnsupported: a kind of client or URL that this version can not deploy to.
	ErrUnsupported Reason = "unsupported"
)

// Error is the reason in words.
func (r Reason) Error() string { return strings.ReplaceAll(string(r), "_", " ") }

// An Error is one thing that could not be done, on one line. errors.Is finds its Reason and its Cause.
type Error struct {
	Op      string `json:"op"`                // "load"
	Library string `json:"library,omitempty"` // "ratelimit_v1"
	Node    string `json:"node,omitempty"`    // "127.0.0.1:7001"
	Reason  Reason `json:"reason"`
	Text    string `json:"text"`           // what is wrong, and what to do
	Lock    *Lock  `json:"lock,omitempty"` // of ErrLocked: who holds it
	Cause   error  `json:"-"`
}

// Error says all of it: `load ratelimit_v1 on 127.0.0.1:7001: ...`.
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

// Is tells whether target is e's Reason.
func (e *Error) Is(target error) bool { return target == e.Reason }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// at is e as part of another operation.
func (e *Error) at(op, library string) *Error {
	again := *e
	again.Op, again.Library = op, library
	return &again
}

var newlines = strings.NewReplacer("\r\n", " ", "\r", " ", "\n", " ")

func oneLine(s string) string { return strings.TrimSpace(newlines.Replace(s)) }
