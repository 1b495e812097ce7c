package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/loader/internal/conn"
	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

// ErrLost is the error of a transaction that did not run because the lock had expired or was removed.
var ErrLost = errors.New("the lock was lost")

// Transaction runs commands on a server of the lock in a transaction that only runs while this process holds the lock.
// commands reads over the same connection, after the lock is watched, and returns the commands to run; its error ends the
// transaction. If the lock is lost the error is ErrLost and nothing has run.
func (l *Lock) Transaction(ctx context.Context, server *conn.Conn, commands func(context.Context, *conn.Conn) ([][]any, error)) ([]any, error) {
	on := server
	if !server.Pinned() {
		// An own connection, because it may still watch the lock afterwards.
		on = server.Unpinned()
		on.Pin()
		defer on.Unpin()
	}
	l.running.Add(1)
	defer l.running.Add(-1)
	// This process's own renewal of the lock also fails the transaction. Then nothing has run, and the next try may succeed.
	for range 10 {
		replies, err := l.try(ctx, on, commands)
		if !errors.Is(err, redis.Nil) {
			return replies, err
		}
	}
	return nil, ErrLost
}

// try runs the transaction once. redis.Nil means that the lock's key was touched.
func (l *Lock) try(ctx context.Context, on *conn.Conn, commands func(context.Context, *conn.Conn) ([][]any, error)) ([]any, error) {
	if l.Key != "" {
		if _, err := on.Do(ctx, true, "WATCH", l.Key); err != nil {
			return nil, err
		}
		value, err := on.Do(ctx, true, "GET", l.Key)
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, err
		}
		if value != l.value {
			return nil, ErrLost
		}
	}
	run, err := commands(ctx, on)
	if err != nil {
		return nil, err
	}
	if _, err := on.Do(ctx, true, "MULTI"); err != nil {
		return nil, err
	}
	for _, c := range run {
		if _, err := on.Do(ctx, true, c...); err != nil {
			var reply redis.Error
			if errors.As(err, &reply) {
				_, _ = on.Do(ctx, true, "DISCARD")
			}
			return nil, err
		}
	}
	reply, err := on.Do(ctx, true, "EXEC")
	if err != nil {
		return nil, err
	}
	replies, ok := reply.([]any)
	if !ok || len(replies) != len(run) {
		return nil, resp.FormatError(fmt.Sprintf("EXEC of %d commands returned a %T", len(run), reply))
	}
	return replies, nil
}
