package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader/internal/conn"
	"github.com/rlfunc/rlfunc/loader/internal/lock"
)

// errAlready is the error of a load that finds its library on the node.
var errAlready = errors.New("the library is already on the node")

// loadLocked loads lib in a transaction if the node still holds what was found. The server refuses a load without REPLACE if the
// name is taken. Before a replacement the same transaction lists the library, to detect a load by another tool that takes no
// lock; loadLocked then restores that tool's code.
func (n *node) loadLocked(ctx context.Context, l *lock.Lock, lib *fcall.Library, found Finding) error {
	load := []any{"FUNCTION", "LOAD"}
	if found.replaces() {
		load = append(load, "REPLACE")
	}
	replies, err := n.transaction(ctx, l, func(ctx context.Context, on *conn.Conn) ([][]any, error) {
		loaded, err := listOne(ctx, on, lib.ServerName)
		if err != nil {
			return nil, err
		}
		now := compare(lib, loaded)
		switch {
		case now.State == Same:
			return nil, errAlready
		case now.State != found.State || now.Digest != found.Digest:
			return nil, n.changedMeanwhile(lib.ServerName, describe(found), describe(now))
		}
		return [][]any{listCommand(lib.ServerName), append(load, lib.Code)}, nil
	})
	if err != nil {
		return err
	}
	if refusal, ok := replies[1].(error); ok {
		return refusal
	}
	before, err := libraryInReply(replies[0], lib.ServerName)
	if err != nil || before == nil || before.Digest == found.Digest || before.Digest == lib.Digest() {
		return err
	}
	e := n.changedMeanwhile(lib.ServerName, describe(found), describe(compare(lib, []LoadedLibrary{*before})))
	if err := n.restore(ctx, l, *before, lib.Digest()); err != nil {
		e.Text = fmt.Sprintf("another tool loaded it at the same moment (digest %.12s), and this load replaced that; restoring it failed: %s; plan again, and find out which tool else deploys",
			before.Digest, oneLine(err.Error()))
	}
	return e
}

// restore loads what another tool had loaded just before this process replaced it. ours is the digest of the replacement.
func (n *node) restore(ctx context.Context, l *lock.Lock, theirs LoadedLibrary, ours string) error {
	replies, err := n.transaction(ctx, l, func(ctx context.Context, on *conn.Conn) ([][]any, error) {
		loaded, err := listOne(ctx, on, theirs.ServerName)
		if err != nil {
			return nil, err
		}
		if now := named(loaded, theirs.ServerName); now == nil || now.Digest != ours {
			return nil, errors.New("it has changed again")
		}
		return [][]any{{"FUNCTION", "LOAD", "REPLACE", theirs.Code}}, nil
	})
	if err != nil {
		return err
	}
	if refusal, ok := replies[0].(error); ok {
		return refusal
	}
	return nil
}

// transaction runs commands on the node while this process holds l.
func (n *node) transaction(ctx context.Context, l *lock.Lock, commands func(context.Context, *conn.Conn) ([][]any, error)) ([]any, error) {
	replies, err := l.Transaction(ctx, n.Conn, commands)
	if errors.Is(err, lock.ErrLost) {
		return nil, &Error{
			Node: n.Addr, Reason: ErrLockLost,
			Text: "the lock was lost: this process paused for longer than the lock lasts, or the lock was removed, and another deployer may be at work; nothing was loaded; see `rlfunc status`, then deploy again",
		}
	}
	return replies, err
}

func (n *node) changedMeanwhile(library, was, is string) *Error {
	return &Error{
		Library: library, Node: n.Addr, Reason: ErrChanged,
		Text: "another tool changed it meanwhile (it was " + was + " and is " + is + "), and it was not replaced; plan again",
	}
}

// libraryInReply finds a library in the reply to listCommand, which also lists names that differ in case only.
func libraryInReply(reply any, serverName string) (*LoadedLibrary, error) {
	if err, ok := reply.(error); ok {
		return nil, err
	}
	libraries, err := readLibraries(reply)
	if err != nil {
		return nil, err
	}
	return named(libraries, serverName), nil
}

func named(libraries []LoadedLibrary, serverName string) *LoadedLibrary {
	i := slices.IndexFunc(libraries, func(l LoadedLibrary) bool { return l.ServerName == serverName })
	if i < 0 {
		return nil
	}
	return &libraries[i]
}
