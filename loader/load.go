package loader

import (
	"context"
	"errors"
	"regexp"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader/internal/bundle"
	"github.com/rlfunc/rlfunc/loader/internal/lock"
)

// load loads a library in place of what the node held before, and reads it back. With a lock it loads only if the node still
// holds that.
func (n *node) load(ctx context.Context, l *lock.Lock, lib *fcall.Library, before Finding) StepResult {
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
		e := classify("load", lib.ServerName, n.Addr, true, err)
		if e.Reason != ErrRejected && e.Reason != ErrOutcomeUnknown {
			return fail(e) // certainly nothing was loaded
		}
	}
	var loaded []LoadedLibrary
	var lookErr error
	if refused {
		loaded, lookErr = listAll(ctx, n.Conn) // any library may be the cause
	} else {
		loaded, lookErr = listOne(ctx, n.Conn, lib.ServerName)
	}
	if lookErr != nil {
		return fail(unverified(n, lib, err, refused, lookErr))
	}
	after := compare(lib, loaded)
	r.Found = after.Found
	switch {
	case after.State == Same && refused:
		r.Outcome = Already // another deployer was faster
	case after.State == Same && before.State == Drifted:
		r.Outcome = Replaced
	case after.State == Same && before.State == Newer:
		r.Outcome = Downgraded
	case after.State == Same && before.State != Missing && before.State != Retired:
		r.Outcome = Upgraded
	case after.State == Same:
		// Loaded, even if the reply was lost: these are the bytes.
	case refused:
		return fail(explain(n, lib, before, after, loaded, answer))
	case err == nil:
		return fail(&Error{
			Op: "load", Library: lib.ServerName, Node: n.Addr, Reason: ErrChanged,
			Text: "it was loaded, but the node holds something else now (" + describe(after) + "); another deploy may be running; plan again",
		})
	default:
		return fail(&Error{
			Op: "load", Library: lib.ServerName, Node: n.Addr, Reason: ErrOutcomeUnknown, Cause: err,
			Text: "the connection broke during the load (" + plainText(err) + "); right after, it was " + describe(after) + "; deploy again",
		})
	}
	return r
}

func (n *node) put(ctx context.Context, l *lock.Lock, lib *fcall.Library, before Finding) error {
	if l != nil {
		return n.loadLocked(ctx, l, lib, before)
	}
	args := []any{"FUNCTION", "LOAD"}
	if before.replaces() {
		args = append(args, "REPLACE")
	}
	_, err := n.Do(ctx, true, append(args, lib.Code)...)
	return err
}

// unverified returns the error of a load that could not be read back.
func unverified(n *node, lib *fcall.Library, err error, refused bool, lookErr error) *Error {
	if refused {
		return rejected("load", lib, n.Addr, err)
	}
	e := &Error{Op: "load", Library: lib.ServerName, Node: n.Addr, Reason: ErrOutcomeUnknown, Cause: lookErr}
	if err != nil {
		e.Cause = err
		e.Text = "the connection broke during the load (" + plainText(err) + "), and it could not be read back; run verify, then deploy again"
		return e
	}
	e.Text = "the server loaded it, but it could not be read back (" + classify("", "", "", false, lookErr).Text + "); run verify"
	return e
}

var notInNames = regexp.MustCompile(`\W+`)

// explain finds the library on the node that made the server refuse a load. Texts of replies differ between servers, so explain
// looks up the names that they contain.
func explain(n *node, lib *fcall.Library, before, after Finding, loaded []LoadedLibrary, answer redis.Error) *Error {
	e := &Error{Op: "load", Library: lib.ServerName, Node: n.Addr, Cause: answer}
	if before.State != after.State || before.Digest != after.Digest {
		e.Reason = ErrChanged
		e.Text = "it changed meanwhile (it was " + describe(before) + " and is " + describe(after) + "); plan again"
		return e
	}
	names := bundle.Functions(lib.Code)
	if !bundlePosition.MatchString(answer.Error()) {
		// A name that the code computes is in the reply only. Replies about the code have a position instead.
		names = append(names, notInNames.Split(answer.Error(), -1)...)
	}
	if c := conflictOf(lib.ServerName, names, loaded); c != nil {
		e.Reason, e.Text = ErrConflict, c.String()+"; delete that library or rename this one"
		return e
	}
	return rejected("load", lib, n.Addr, answer)
}

// describe describes a finding briefly.
func describe(f Finding) string {
	switch f.State {
	case Missing:
		return "missing"
	case Retired:
		return "retired"
	case Foreign:
		return "another library"
	case Drifted:
		return f.Found + " with other bytes"
	}
	return f.Found
}
