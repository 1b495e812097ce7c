package loader

import (
	"context"
	"errors"
	"regexp"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// load puts a library on a node, in place of what the node held a moment ago, and reads it back. Under a lock it replaces that only if it is
// still there.
func (n *node) load(ctx context.Context, l *lock, lib *fcall.Library, before Finding) StepResult {
	err := n.put(ctx, l, lib, before)
	r := StepResult{Library: lib.ServerName, Outcome: Loaded, From: before.Found}
	fail := func(e *Error) StepResult {
		r.Outcome, r.Problem = Failed, e
		return r
	}
	var stopped *Error
	switch {
	case errors.Is(err, errAlready):
		r.Outcome, r.Found = Already, lib.Version
		return r
	case errors.As(err, &stopped): // by the fence
		return fail(stopped.at("load", lib.ServerName))
	}
	var answer redis.Error
	refused := errors.As(err, &answer)
	if err != nil {
		e := judge("load", lib.ServerName, n.Addr, true, err)
		if e.Reason != ErrRejected && e.Reason != ErrOutcomeUnknown {
			return fail(e) // it is sure that nothing was loaded
		}
	}
	look := n.listOne
	if refused {
		look = func(ctx context.Context, _ string) ([]LoadedLibrary, error) { return n.list(ctx) } // any of them may be the cause
	}
	loaded, lookErr := look(ctx, lib.ServerName)
	if lookErr != nil {
		return fail(unverified(n, lib, err, refused, lookErr))
	}
	after := compare(lib, loaded)
	r.Found = after.Found
	switch {
	case after.State == Same && refused:
		r.Outcome = Already // somebody else was faster
	case after.State == Same && before.State == Drifted:
		r.Outcome = Replaced
	case after.State == Same && before.State == Newer:
		r.Outcome = Downgraded
	case after.State == Same && before.State != Missing && before.State != Retired:
		r.Outcome = Upgraded
	case after.State == Same:
		// Loaded, also where the reply was lost: these are the bytes.
	case refused:
		return fail(explain(n, lib, before, after, loaded, answer))
	case err == nil:
		return fail(&Error{
			Op: "load", Library: lib.ServerName, Node: n.Addr, Reason: ErrMoved,
			Text: "it was loaded, but the node holds something else now (" + describe(after) + "); is another deploy running? plan again",
		})
	default:
		return fail(&Error{
			Op: "load", Library: lib.ServerName, Node: n.Addr, Reason: ErrOutcomeUnknown, Cause: err,
			Text: "the connection broke while it was loading (" + plainText(err) + "); a look right after found it " + describe(after) + "; deploy again",
		})
	}
	return r
}

func (n *node) put(ctx context.Context, l *lock, lib *fcall.Library, before Finding) error {
	if l != nil {
		return l.put(ctx, n, lib, before)
	}
	args := []any{"FUNCTION", "LOAD"}
	if before.replaces() {
		args = append(args, "REPLACE")
	}
	_, err := n.do(ctx, true, append(args, lib.Code)...)
	return err
}

// unverified is a load that nobody could look at afterwards.
func unverified(n *node, lib *fcall.Library, err error, refused bool, lookErr error) *Error {
	if refused {
		return rejected("load", lib, n.Addr, err)
	}
	e := &Error{Op: "load", Library: lib.ServerName, Node: n.Addr, Reason: ErrOutcomeUnknown, Cause: lookErr}
	if err != nil {
		e.Cause = err
		e.Text = "the connection broke while it was loading (" + plainText(err) + "), and it could not be read back; run verify, then deploy again"
		return e
	}
	e.Text = "the server took it, but it could not be read back (" + judge("", "", "", false, lookErr).Text + "); run verify"
	return e
}

var notInNames = regexp.MustCompile(`\W+`)

// explain finds what on the node made the server refuse the library. Replies say it in words; the names that they mention are
// looked up instead.
func explain(n *node, lib *fcall.Library, before, after Finding, loaded []LoadedLibrary, answer redis.Error) *Error {
	e := &Error{Op: "load", Library: lib.ServerName, Node: n.Addr, Cause: answer}
	if before.State != after.State || before.Digest != after.Digest {
		e.Reason = ErrMoved
		e.Text = "somebody else changed it meanwhile (it was " + describe(before) + " and is " + describe(after) + "); plan again"
		return e
	}
	names := registered(lib.Code)
	if !bundlePosition.MatchString(answer.Error()) {
		// A name that the code puts together is in the reply only; replies about the code have a position instead.
		names = append(names, notInNames.Split(answer.Error(), -1)...)
	}
	if c := conflictOf(lib.ServerName, names, loaded); c != nil {
		e.Reason, e.Text = ErrConflict, c.String()+"; delete that library or rename this one"
		return e
	}
	return rejected("load", lib, n.Addr, answer)
}

// describe is a finding in a few words.
func describe(f Finding) string {
	switch f.State {
	case Missing:
		return "absent"
	case Retired:
		return "retired"
	case Foreign:
		return "a library that is not ours"
	case Drifted:
		return f.Found + " with other bytes"
	}
	return f.Found
}
