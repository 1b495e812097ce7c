package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// errAlready tells that a node holds by now what was to be loaded.
var errAlready = errors.New("it is there already")

// guarded runs commands on the lock's node, in a transaction that only happens while the lock is this process's own. look reads over the same
// connection, after the lock is watched, and says what to run; an error of it ends everything. An owner that slept past its lock's expiry gets
// ErrLockLost, and nothing has run. The connection is the node's pinned one, or one for this time, as it may still watch the lock afterwards.
func (l *lock) guarded(ctx context.Context, n *node, look func(context.Context, *node) ([][]any, error)) ([]any, error) {
	on := n
	if n.pinned == nil {
		on = n.unpinned()
		on.pin()
		defer on.unpin()
	}
	// A renewal of the lock by this process ends a transaction as well; then nothing has run, and it is tried again.
	for range 10 {
		replies, err := l.transaction(ctx, on, look)
		if !errors.Is(err, redis.Nil) {
			return replies, err
		}
	}
	return nil, l.lost()
}

// transaction is one try of guarded. redis.Nil is a lock that was touched.
func (l *lock) transaction(ctx context.Context, on *node, look func(context.Context, *node) ([][]any, error)) ([]any, error) {
	if l.key != "" {
		if _, err := on.do(ctx, true, "WATCH", l.key); err != nil {
			return nil, err
		}
		value, err := on.do(ctx, true, "GET", l.key)
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, err
		}
		if value != l.value {
			return nil, l.lost()
		}
	}
	commands, err := look(ctx, on)
	if err != nil {
		return nil, err
	}
	if _, err := on.do(ctx, true, "MULTI"); err != nil {
		return nil, err
	}
	for _, c := range commands {
		if _, err := on.do(ctx, true, c...); err != nil {
			if judge("", "", "", true, err).answered() {
				_, _ = on.do(ctx, true, "DISCARD")
			}
			return nil, err
		}
	}
	reply, err := on.do(ctx, true, "EXEC")
	if err != nil {
		return nil, err
	}
	replies, ok := reply.([]any)
	if !ok || len(replies) != len(commands) {
		return nil, listError(fmt.Sprintf("EXEC of %d commands answered with a %T", len(commands), reply))
	}
	return replies, nil
}

func (l *lock) lost() *Error {
	return &Error{
		Node: l.node.Addr, Reason: ErrLockLost,
		Text: "the lock was lost: this process stood still for longer than it lasts, or somebody removed it, and another deployer may be at work; nothing was loaded; see `rlfunc status`, then deploy again",
	}
}

// put loads lib if the node still holds what was found. The server refuses a load without REPLACE where the name is taken. For a replacement
// the same transaction lists what is there just before, so that it is known whether another tool, which takes no lock, got in between;
// then that tool's code is put back.
func (l *lock) put(ctx context.Context, n *node, lib *fcall.Library, found Finding) error {
	load := []any{"FUNCTION", "LOAD"}
	if found.replaces() {
		load = append(load, "REPLACE")
	}
	replies, err := l.guarded(ctx, n, func(ctx context.Context, on *node) ([][]any, error) {
		loaded, err := on.listOne(ctx, lib.ServerName)
		if err != nil {
			return nil, err
		}
		now := compare(lib, loaded)
		switch {
		case now.State == Same:
			return nil, errAlready
		case now.State != found.State || now.Digest != found.Digest:
			return nil, l.moved(lib.ServerName, describe(found), describe(now))
		}
		return [][]any{list(lib.ServerName), append(load, lib.Code)}, nil
	})
	if err != nil {
		return err
	}
	if refusal, ok := replies[1].(error); ok {
		return refusal
	}
	before, err := inReply(replies[0], lib.ServerName)
	if err != nil || before == nil || before.Digest == found.Digest || before.Digest == lib.Digest() {
		return err
	}
	e := l.moved(lib.ServerName, describe(found), describe(compare(lib, []LoadedLibrary{*before})))
	if err := l.putBack(ctx, n, *before, lib.Digest()); err != nil {
		e.Text = fmt.Sprintf("another tool loaded it in the same moment (digest %.12s), and this load replaced that; putting it back failed: %s; plan again, and ask who else deploys",
			before.Digest, oneLine(err.Error()))
	}
	return e
}

// putBack restores what another tool had loaded in the very moment in which ours replaced it. ours is the digest of what stands in its place.
func (l *lock) putBack(ctx context.Context, n *node, theirs LoadedLibrary, ours string) error {
	replies, err := l.guarded(ctx, n, func(ctx context.Context, on *node) ([][]any, error) {
		loaded, err := on.listOne(ctx, theirs.ServerName)
		if err != nil {
			return nil, err
		}
		if now := named(loaded, theirs.ServerName); now == nil || now.Digest != ours {
			return nil, errors.New("it has changed once more")
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

func (l *lock) moved(library, was, is string) *Error {
	return &Error{
		Library: library, Node: l.node.Addr, Reason: ErrMoved,
		Text: "another tool changed it meanwhile (it was " + was + " and is " + is + "); that is left as it is; plan again",
	}
}

// list asks for one library with its code. Names of libraries are letters, digits and underscores, so the pattern finds only that one.
func list(serverName string) []any {
	return []any{"FUNCTION", "LIST", "LIBRARYNAME", serverName, "WITHCODE"}
}

// inReply finds a library in the reply to list, where another one can be, in other letters.
func inReply(reply any, serverName string) (*LoadedLibrary, error) {
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
