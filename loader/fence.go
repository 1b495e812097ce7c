package loader

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// errAlready tells that a node holds by now what was to be loaded.
var errAlready = errors.New("it is there already")

// guarded runs commands in a transaction that only happens while the lock is this process's own. look reads over the same connection, after the
// lock is watched, and says what to run; an error of it ends everything. An owner that slept past its lock's expiry gets ErrLockLost, and
// nothing has run. conn defaults to a connection for this time; it must not go back to a pool, with what it may still watch.
func (l *lock) guarded(ctx context.Context, conn *redis.Conn, look func(context.Context, *node) ([][]any, error)) ([]any, error) {
	if conn == nil {
		conn = l.node.client.EphemeralConn()
		defer conn.Close()
	}
	on := &node{Node: l.node.Node, caller: conn, pinned: conn}
	defer func() {
		if on.pinned == nil && l.node.pinned == conn {
			l.node.pinned = nil // it broke, and is closed
		}
	}()
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
			_, _ = on.do(context.WithoutCancel(ctx), true, "DISCARD")
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
func (l *lock) put(ctx context.Context, lib *fcall.Library, replace bool, found Finding) error {
	load := []any{"FUNCTION", "LOAD"}
	if replace {
		load = append(load, "REPLACE")
	}
	replies, err := l.guarded(ctx, l.node.pinned, func(ctx context.Context, on *node) ([][]any, error) {
		loaded, err := on.list(ctx)
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
	before, err := l.listed(replies[0], lib.ServerName)
	if err != nil || before == nil || before.Digest == found.Digest || before.Digest == lib.Digest() {
		return err
	}
	e := l.moved(lib.ServerName, describe(found), describe(compare(lib, []LoadedLibrary{*before})))
	if err := l.putBack(ctx, *before, lib.Digest()); err != nil {
		e.Text = fmt.Sprintf("another tool loaded it in the same moment (digest %.12s), and this load replaced that; putting it back failed: %s; plan again, and ask who else deploys",
			before.Digest, oneLine(err.Error()))
	}
	return e
}

// putBack restores what another tool had loaded in the very moment in which ours replaced it, or deleted it. ours is the digest of what
// stands in its place, or empty.
func (l *lock) putBack(ctx context.Context, theirs LoadedLibrary, ours string) error {
	replies, err := l.guarded(ctx, l.node.pinned, func(ctx context.Context, on *node) ([][]any, error) {
		loaded, err := on.list(ctx)
		if err != nil {
			return nil, err
		}
		digest := ""
		for _, lib := range loaded {
			if lib.ServerName == theirs.ServerName {
				digest = lib.Digest
			}
		}
		if digest != ours {
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

// remove deletes a library that is still the one that was found; what another tool loaded in the same moment is put back.
func (l *lock) remove(ctx context.Context, found LoadedLibrary) error {
	replies, err := l.guarded(ctx, l.node.pinned, func(ctx context.Context, on *node) ([][]any, error) {
		loaded, err := on.list(ctx)
		if err != nil {
			return nil, err
		}
		for _, lib := range loaded {
			if lib.ServerName != found.ServerName {
				continue
			}
			if lib.Digest != found.Digest {
				return nil, l.moved(found.ServerName, "digest "+found.Digest[:12], "digest "+lib.Digest[:12])
			}
			return [][]any{list(found.ServerName), {"FUNCTION", "DELETE", found.ServerName}}, nil
		}
		return nil, errAlready
	})
	if err != nil {
		return err
	}
	if refusal, ok := replies[1].(error); ok {
		return refusal
	}
	before, err := l.listed(replies[0], found.ServerName)
	if err != nil || before == nil || before.Digest == found.Digest {
		return err
	}
	e := l.moved(found.ServerName, "digest "+found.Digest[:12], "digest "+before.Digest[:12])
	if err := l.putBack(ctx, *before, ""); err != nil {
		e.Text += "; it was deleted and could not be put back: " + oneLine(err.Error())
	}
	return e
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

// listed reads the reply to list, where another library can be, in other letters.
func (l *lock) listed(reply any, serverName string) (*LoadedLibrary, error) {
	if err, ok := reply.(error); ok {
		return nil, err
	}
	items, ok := reply.([]any)
	if !ok {
		return nil, listError(fmt.Sprintf("the list of libraries is a %T", reply))
	}
	for _, item := range items {
		lib, err := readLibrary(item)
		if err != nil {
			return nil, listError(err.Error())
		}
		if lib.ServerName == serverName {
			return &lib, nil
		}
	}
	return nil, nil
}
