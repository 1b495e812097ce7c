package loader

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"os/user"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// A lock outlives its owner by less than lockTTL, and is renewed each lockRenew: two renewals may fail before half of its life is over.
var (
	lockTTL   = 30 * time.Second
	lockRenew = 5 * time.Second
)

const lockPoll = 200 * time.Millisecond

// LockOptions say who changes a target, and how long another deployer is waited for.
type LockOptions struct {
	// By is written into the lock, the records and the history: a person, or the address of a pipeline's run, at most 200 bytes. Defaults to
	// user@host and the number of the process.
	By string
	// Wait is how long to wait for the end of another deployer. Defaults to not waiting.
	Wait time.Duration
	// OnWait is called once with the ErrLocked that is waited out. Defaults to nothing.
	OnWait func(*Error)
}

func (o LockOptions) by() string {
	if o.By != "" {
		return shorten(oneLine(o.By), 200)
	}
	name, host := "unknown", "unknown host"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return fmt.Sprintf("%s@%s (pid %d)", name, host, os.Getpid())
}

// A ticket is what a lock's key holds. Its text is unique: the lock belongs to the process that wrote the same text.
type ticket struct {
	By    string    `json:"by"`
	Op    Op        `json:"op"`
	Since time.Time `json:"since"`
	Token string    `json:"token"`
}

// locks are those of an operation: a lease on one key of the target, which two operations cannot hold at once wherever its slot goes, and then
// a fence on each primary, which loads are guarded by. Each is renewed from the moment in which it is taken.
type locks struct {
	token string
	by    string

	mu   sync.Mutex
	held []*lock
	stop context.CancelFunc
}

// lockAll takes the lease, then all fences at once, or nothing. A caller without connections that can watch a key, as the embedded server
// inside this process is, has no locks.
func lockAll(ctx context.Context, s *session, states []NodeState, op Op, o LockOptions) (*locks, error) {
	l := &locks{token: rand.Text(), by: o.by()}
	text, err := json.Marshal(ticket{By: l.by, Op: op, Since: time.Now().UTC().Truncate(time.Second), Token: l.token})
	if err != nil {
		return nil, err
	}
	end := time.Now().Add(o.Wait)
	for told := false; ; {
		err := l.tryAll(ctx, s, states, op, string(text))
		if err == nil {
			return l, nil
		}
		l.release(ctx)
		if err.Reason != ErrLocked || time.Now().After(end) {
			return nil, err
		}
		if !told && o.OnWait != nil {
			o.OnWait(err)
		}
		told = true
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(lockPoll/2 + mathrand.N(lockPoll)):
		}
	}
}

func (l *locks) tryAll(ctx context.Context, s *session, states []NodeState, op Op, value string) *Error {
	renewal, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	if client, ok := s.book.caller.(watcher); ok {
		lease := &lock{node: s.book.node(), client: client, key: keyLease, value: value}
		if err := l.take(ctx, renewal, lease, op); err != nil {
			return err
		}
	}
	errs := make([]*Error, len(s.nodes))
	onEach(s.nodes, func(i int, n *node) {
		if n.client == nil || !n.loadable() || states[i].Problem != nil {
			return
		}
		key, err := n.lockKey(ctx, states[i].Server)
		if err != nil {
			errs[i] = judgeState(string(op), n.Addr, err)
			return
		}
		errs[i] = l.take(ctx, renewal, &lock{node: n.unpinned(), client: n.client, key: key, value: value}, op)
	})
	var first *Error
	for _, err := range errs {
		if err != nil && (first == nil || first.Reason == ErrLocked && err.Reason != ErrLocked) {
			first = err // waiting does not help against the others
		}
	}
	return first
}

// take takes a lock and renews it from then on. One that may have been taken is held, too.
func (l *locks) take(ctx, renewal context.Context, one *lock, op Op) *Error {
	err := one.take(ctx, op)
	if err == nil || !err.answered() {
		one.done = make(chan struct{})
		go one.renew(renewal)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held = append(l.held, one)
	}
	return err
}

// fence is the node's; nil for a caller without connections.
func (l *locks) fence(n *node) *lock {
	for _, one := range l.held {
		if one.client == watcher(n.client) && one.key != keyLease {
			return one
		}
	}
	return nil
}

// release ends the renewal and deletes the locks, all at once, also when ctx is over. The error is ErrLockLost if one of them belonged to this
// process no longer.
func (l *locks) release(ctx context.Context) *Error {
	l.stop()
	lost := make([]bool, len(l.held))
	var wg sync.WaitGroup
	for i, one := range l.held {
		wg.Go(func() { lost[i] = !one.giveBack(ctx) })
	}
	wg.Wait()
	var first *Error
	more := 0
	for i, one := range l.held {
		switch {
		case !lost[i]:
		case first == nil:
			first = &Error{
				Op: "keep the lock", Node: one.node.Addr, Reason: ErrLockLost,
				Text: "the lock expired or was removed before the operation ended, and another deployer may have been at work; see `rlfunc history`, then run `rlfunc plan`",
			}
		default:
			more++
		}
	}
	if more > 0 {
		first.Text = fmt.Sprintf("%s (and %d more locks)", first.Text, more)
	}
	l.held = nil
	return first
}

// A watcher is a client that can delete a key on condition.
type watcher interface {
	fcall.Caller
	Watch(ctx context.Context, fn func(*redis.Tx) error, keys ...string) error
}

// A lock is a key that this process holds on a server, or a server that takes no keys.
type lock struct {
	node   *node
	client watcher
	key    string // empty for a primary without slots
	value  string

	done chan struct{} // closed when it is renewed no longer
	at   time.Time     // when it was last taken or renewed
	gone bool          // it has expired, or another has it
}

// take takes the lock, unless another holds it.
func (l *lock) take(ctx context.Context, op Op) *Error {
	l.at = time.Now()
	if l.key == "" {
		return nil
	}
	for range 3 {
		_, err := l.node.do(ctx, true, "SET", l.key, l.value, "NX", "PX", lockTTL.Milliseconds())
		if err == nil {
			return nil
		}
		if !errors.Is(err, redis.Nil) {
			return judgeState(string(op), l.node.Addr, err)
		}
		holder, err := l.node.holder(ctx, l.key)
		if err != nil {
			return judgeState(string(op), l.node.Addr, err)
		}
		if holder != nil {
			return locked(op, l.key, holder)
		}
	}
	return &Error{Op: string(op), Node: l.node.Addr, Reason: ErrLocked, Text: "other deployers take the lock by turns; try again"}
}

// renew keeps the lock alive until ctx ends. A lock that is lost is not taken again: another deployer may have been there, and the fence stops
// this one. GETEX says in one step what the key held and lets it live; to prolong the lock of another once is harmless.
func (l *lock) renew(ctx context.Context) {
	defer close(l.done)
	if l.key == "" {
		return
	}
	tick := time.NewTicker(lockRenew)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		sent := time.Now()
		try, cancel := context.WithTimeout(ctx, lockRenew)
		reply, err := l.node.do(try, true, "GETEX", l.key, "PX", lockTTL.Milliseconds())
		cancel()
		switch {
		case err == nil && reply == l.value:
			l.at = sent
		case err == nil || errors.Is(err, redis.Nil):
			l.gone = true
			return
		}
	}
}

var errNotOwn = errors.New("the lock belongs to another process")

// giveBack deletes the lock, and reports whether it was this process's own until then. A lock that cannot be deleted expires.
func (l *lock) giveBack(ctx context.Context) bool {
	<-l.done
	if l.key == "" || l.gone {
		return !l.gone
	}
	ctx, cancel := ending(ctx)
	defer cancel()
	err := error(redis.TxFailedErr)
	for range 3 { // a renewal whose reply was not waited for touches the key once
		if err = l.delete(ctx); !errors.Is(err, redis.TxFailedErr) {
			break
		}
	}
	return err == nil || !errors.Is(err, errNotOwn) && time.Since(l.at) < lockTTL
}

func (l *lock) delete(ctx context.Context) error {
	return within(ctx, func() error {
		return l.client.Watch(ctx, func(tx *redis.Tx) error {
			value, err := tx.Get(ctx, l.key).Result()
			if errors.Is(err, redis.Nil) || err == nil && value != l.value {
				return errNotOwn
			}
			if err == nil {
				_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Del(ctx, l.key).Err() })
			}
			return err
		}, l.key)
	})
}

func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}
