package loader

import (
	"context"
	"errors"
	"regexp"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader/internal/bundle"
	"github.com/rlfunc/rlfunc/loader/internal/conn"
)

// errAlready is the error of a load that finds its library on the node.
var errAlready = errors.New("the library is already on the node")

// load loads a library in place of what the step found, reads it back, and sets what came of the step. With a fence it loads only
// while that is held, and only if the node still holds what was found.
func (n *node) load(ctx context.Context, lib *fcall.Library, s *Step) {
	before := *s
	loaded, err, lookErr := n.put(ctx, lib, before)
	s.Outcome, s.Found, s.Problem = outcomeOf[s.Action], "", nil
	fail := func(e *Error) { s.Outcome, s.Problem = Failed, e }
	var stopped *Error
	switch {
	case errors.Is(err, errAlready):
		s.Outcome, s.Found = Already, lib.Version
		return
	case errors.As(err, &stopped): // by the fence
		fail(stopped)
		return
	}
	var answer redis.Error
	refused := errors.As(err, &answer)
	if err != nil {
		e := classify("load", lib.ServerName, n.Addr, true, err)
		if e.Reason != ErrRejected && e.Reason != ErrOutcomeUnknown {
			fail(e) // certainly nothing was loaded
			return
		}
	}
	switch {
	case refused:
		loaded, lookErr = listAll(ctx, n.Conn) // any library may be the cause
	case err != nil:
		loaded, lookErr = listOne(ctx, n.Conn, lib.ServerName)
	}
	if lookErr != nil {
		fail(unverified(n, lib, err, refused, lookErr))
		return
	}
	after := compare(lib, loaded)
	s.Found = after.From
	switch {
	case after.State == Same && refused:
		s.Outcome = Already // another deployer was faster
	case after.State == Same:
		// Also if the reply was lost: these are the bytes.
	case refused:
		fail(explain(n, lib, before, after, loaded, answer))
	case err == nil:
		fail(&Error{
			Op: "load", Library: lib.ServerName, Node: n.Addr, Reason: ErrChanged,
			Text: "it was loaded, but the node holds something else now (" + describe(after) + "); another deploy may be running; plan again",
		})
	default:
		fail(&Error{
			Op: "load", Library: lib.ServerName, Node: n.Addr, Reason: ErrOutcomeUnknown, Cause: err,
			Text: "the connection broke during the load (" + plainText(err) + "); right after, it was " + describe(after) + "; deploy again",
		})
	}
}

// put loads a library, and lists it right afterwards. The server refuses a load without REPLACE if the name is taken.
func (n *node) put(ctx context.Context, lib *fcall.Library, before Step) (loaded []LoadedLibrary, err, lookErr error) {
	load := []any{"FUNCTION", "LOAD"}
	if before.State != Missing {
		load = append(load, "REPLACE")
	}
	load = append(load, lib.Code)
	if n.fence == nil {
		if _, err := n.Do(ctx, true, load...); err != nil {
			return nil, err, nil
		}
		loaded, lookErr = listOne(ctx, n.Conn, lib.ServerName)
		return loaded, nil, lookErr
	}
	replies, err := n.fence.transaction(ctx, n.Conn, func(on *conn.Conn) ([][]any, error) {
		if before.State != Missing { // another tool, which takes no lock, may have replaced it
			loaded, err := listOne(ctx, on, lib.ServerName)
			if err != nil {
				return nil, err
			}
			now := compare(lib, loaded)
			switch {
			case now.State == Same:
				return nil, errAlready
			case now.FromDigest != before.FromDigest:
				return nil, &Error{
					Library: lib.ServerName, Node: n.Addr, Reason: ErrChanged,
					Text: "another tool changed it meanwhile (it was " + describe(before) + " and is " + describe(now) + "), and it was not replaced; plan again",
				}
			}
		}
		return [][]any{load, listCommand(lib.ServerName)}, nil
	})
	if err != nil {
		return nil, err, nil
	}
	if refusal, ok := replies[0].(error); ok {
		return nil, refusal, nil
	}
	if refusal, ok := replies[1].(error); ok {
		return nil, nil, refusal
	}
	loaded, lookErr = readLibraries(replies[1])
	return loaded, nil, lookErr
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
func explain(n *node, lib *fcall.Library, before, after Step, loaded []LoadedLibrary, answer redis.Error) *Error {
	e := &Error{Op: "load", Library: lib.ServerName, Node: n.Addr, Cause: answer}
	if before.State != after.State || before.FromDigest != after.FromDigest {
		e.Reason = ErrChanged
		e.Text = "it changed meanwhile (it was " + describe(before) + " and is " + describe(after) + "); plan again"
		return e
	}
	names := bundle.Functions(lib.Code)
	if !bundlePosition.MatchString(answer.Error()) {
		// A name that the code computes is in the reply only. Replies about the code have a position instead.
		names = append(names, notInNames.Split(answer.Error(), -1)...)
	}
	if why := conflictOf(lib.ServerName, names, loaded); why != "" {
		e.Reason, e.Text = ErrConflict, why+"; delete that library or rename this one"
		return e
	}
	return rejected("load", lib, n.Addr, answer)
}
