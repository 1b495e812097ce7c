// Package lock holds a key on a Redis server as a lock with a TTL, and runs transactions only while this process holds it.
package lock

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader/internal/conn"
)

// A lock expires TTL after its last renewal. Of the renewals before half of that is over, two may fail, or one while a transaction runs.
var (
	TTL        = 30 * time.Second
	RenewEvery = 5 * time.Second
)

// A Watcher is a client that can delete a key conditionally.
type Watcher interface {
	fcall.Caller
	Watch(ctx context.Context, fn func(*redis.Tx) error, keys ...string) error
}

// A Ticket is the value of a lock's key. Its text is unique: the lock belongs to the process that wrote it.
type Ticket struct {
	By    string    `json:"by"`
	Op    string    `json:"op"`
	Since time.Time `json:"since"`
	Token string    `json:"token"`
}

// A Lock is a key that this process holds on a server. A lock without a key, on a primary without slots, is always held.
type Lock struct {
	Addr string // of the server, for errors
	Key  string

	server *conn.Conn
	client Watcher
	value  string

	running  atomic.Int32  // transactions
	renewing chan struct{} // closed when renewal has ended
	renewed  time.Time     // when the lock was last taken or renewed
	lost     bool          // it expired, or another process has it
}

// New returns a lock that is not taken yet. value is the text of a [Ticket].
func New(addr string, server *conn.Conn, client Watcher, key, value string) *Lock {
	return &Lock{Addr: addr, Key: key, server: server, client: client, value: value}
}

// On reports whether the lock is on the server of a client.
func (l *Lock) On(client *redis.Client) bool { return l.client == Watcher(client) }

// ErrContended is the error of Take when other processes take and release the lock too fast to read its holder.
var ErrContended = errors.New("other deployers take the lock in turn; try again")

// Take takes the lock, or returns its present holder.
func (l *Lock) Take(ctx context.Context) (*Holder, error) {
	l.renewed = time.Now()
	if l.Key == "" {
		return nil, nil
	}
	for range 3 {
		_, err := l.server.Do(ctx, true, "SET", l.Key, l.value, "NX", "PX", TTL.Milliseconds())
		if !errors.Is(err, redis.Nil) {
			return nil, err
		}
		holder, err := Read(ctx, l.server, l.Key)
		if holder != nil || err != nil {
			return holder, err
		}
	}
	return nil, ErrContended
}

// StartRenewal renews the lock in the background until ctx ends. It does not take a lost lock again: another process may have
// held it in between, and Transaction refuses from then on. A renewal makes a running transaction fail, so it is put off once, unless the last one failed.
func (l *Lock) StartRenewal(ctx context.Context) {
	l.renewing = make(chan struct{})
	go l.renew(ctx)
}

func (l *Lock) renew(ctx context.Context) {
	defer close(l.renewing)
	if l.Key == "" {
		return
	}
	tick := time.NewTicker(RenewEvery)
	defer tick.Stop()
	for fresh := true; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if fresh && l.running.Load() > 0 {
			fresh = false
			continue
		}
		sent := time.Now()
		try, cancel := context.WithTimeout(ctx, RenewEvery)
		// GETEX returns the value and sets the TTL in one step. Extending another process's lock once does no harm.
		reply, err := l.server.Do(try, true, "GETEX", l.Key, "PX", TTL.Milliseconds())
		cancel()
		fresh = err == nil
		switch {
		case err == nil && reply == l.value:
			l.renewed = sent
		case err == nil || errors.Is(err, redis.Nil):
			l.lost = true
			return
		}
	}
}

var errNotOwn = errors.New("the lock belongs to another process")

// Release deletes the lock, and reports whether this process held it until then. The renewal's context must have ended. A lock
// that cannot be deleted expires.
func (l *Lock) Release(ctx context.Context) (held bool) {
	<-l.renewing
	if l.Key == "" || l.lost {
		return !l.lost
	}
	ctx, cancel := conn.ForCleanup(ctx)
	defer cancel()
	deleted := false // perhaps, by a try whose answer was lost
	var err error
	for range 3 { // a renewal that timed out may still touch the key once, and a failover ends connections
		err = l.delete(ctx)
		if err == nil || errors.Is(err, errNotOwn) {
			break
		}
		deleted = deleted || !errors.Is(err, redis.TxFailedErr)
	}
	return err == nil || (deleted || !errors.Is(err, errNotOwn)) && time.Since(l.renewed) < TTL
}

func (l *Lock) delete(ctx context.Context) error {
	return conn.Within(ctx, func() error {
		return l.client.Watch(ctx, func(tx *redis.Tx) error {
			value, err := tx.Get(ctx, l.Key).Result()
			if errors.Is(err, redis.Nil) || err == nil && value != l.value {
				return errNotOwn
			}
			if err == nil {
				_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Del(ctx, l.Key).Err() })
			}
			return err
		}, l.Key)
	})
}

// A Holder is the process that holds a lock.
type Holder struct {
	Ticket
	Expires time.Time // zero if the key has no TTL
}

// Read returns the holder of a key, or nil.
func Read(ctx context.Context, server *conn.Conn, key string) (*Holder, error) {
	reply, err := server.Do(ctx, false, "GET", key)
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, _ := reply.(string)
	reply, err = server.Do(ctx, false, "PTTL", key)
	if err != nil {
		return nil, err
	}
	left, _ := reply.(int64)
	if left == -2 {
		return nil, nil
	}
	h := &Holder{}
	if json.Unmarshal([]byte(text), &h.Ticket) != nil {
		h.Ticket = Ticket{By: "something that is not rlfunc"}
	}
	if left >= 0 {
		h.Expires = time.Now().Add(time.Duration(left) * time.Millisecond).UTC().Truncate(time.Second)
	}
	return h, nil
}
