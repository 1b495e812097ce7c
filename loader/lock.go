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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/loader/internal/cluster"
	"github.com/rlfunc/rlfunc/loader/internal/lock"
)

// LockOptions name the operator of an operation, and bound its wait for another deployer.
type LockOptions struct {
	// By goes into the lock, the records and the history: an operator or the URL of a pipeline run, at most 200 bytes.
	// Defaults to user@host and the process ID.
	By string
	// Wait bounds the wait for another deployer. Defaults to no wait.
	Wait time.Duration
	// OnWait is called once with the ErrLocked that Wait waits out. Defaults to nothing.
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

func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}

// A Lock is held by a deployer on a target or on one node. It expires unless the deployer renews it, every 5 s.
type Lock struct {
	Node    string    `json:"node,omitempty"` // empty for the target as a whole
	By      string    `json:"by"`             // the deployer
	Op      Op        `json:"op"`             // its operation
	Since   time.Time `json:"since"`          // by the deployer's clock
	Expires time.Time `json:"expires"`

	token string
}

// lockOf returns the public form of a lock's holder, or nil.
func lockOf(node string, h *lock.Holder) *Lock {
	if h == nil {
		return nil
	}
	return &Lock{Node: node, By: h.By, Op: Op(h.Op), Since: h.Since, Expires: h.Expires, token: h.Token}
}

// Locks lists the deployers that hold the target or one of its nodes. They are at work, or died less than 30 s ago. The list
// leaves out the node locks of the deployer that holds the target.
func (t *Target) Locks(ctx context.Context) ([]Lock, error) {
	s, err := t.open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	holder, err := lock.Read(ctx, s.records.server, keyLease)
	if err != nil {
		return nil, classifyRecordError("read the lock", "", err)
	}
	lease := lockOf("", holder)
	onNodes := make([]*Lock, len(s.nodes))
	errs := make([]error, len(s.nodes))
	onEach(s.nodes, func(i int, n *node) {
		if n.problem != nil {
			return
		}
		key, err := n.lockKey(ctx, n.ask(ctx).server)
		if err == nil && key != "" {
			var holder *lock.Holder
			holder, err = lock.Read(ctx, n.Conn, key)
			onNodes[i] = lockOf(n.Addr, holder)
		}
		if err != nil {
			errs[i] = classifyRecordError("read the lock", n.Addr, err)
		}
	})
	locks := []Lock{}
	if lease != nil {
		locks = append(locks, *lease)
	}
	for _, l := range onNodes {
		if l != nil && (lease == nil || l.token != lease.token) {
			locks = append(locks, *l)
		}
	}
	return locks, errors.Join(errs...)
}

// lockKey returns the key of the node's lock, or "" if the node owns no hash slots.
func (n *node) lockKey(ctx context.Context, server Server) (string, error) {
	if !server.Cluster {
		return keyLock, nil
	}
	reply, err := n.Do(ctx, false, "CLUSTER", "NODES")
	if err != nil {
		return "", err
	}
	text, _ := reply.(string)
	return clusterLockKey(text)
}

// clusterLockKey returns the key of the lock on the node whose CLUSTER NODES has this text. A node takes only keys of its own
// hash slots, so each primary has its own key.
func clusterLockKey(nodes string) (string, error) {
	owned, err := cluster.OwnSlots(nodes)
	if err != nil {
		return "", err
	}
	number, ok := cluster.TagNumber("deploy:", owned)
	if !ok {
		return "", nil
	}
	return fmt.Sprintf("rlfunc:{deploy:%d}:lock", number), nil
}

// locks are the locks of an operation: a lease on one key of the target, which two operations cannot hold at once even while
// its hash slot migrates, and a fence on each primary, which guards the loads there.
type locks struct {
	token string
	by    string

	mu   sync.Mutex
	held []*lock.Lock
	stop context.CancelFunc // ends the renewal
}

// takeLocks takes the lease, then all fences concurrently, or nothing. An embedded server in this process has no locks: its
// caller cannot watch a key.
func takeLocks(ctx context.Context, s *session, states []NodeState, op Op, o LockOptions) (*locks, error) {
	l := &locks{token: rand.Text(), by: o.by()}
	text, err := json.Marshal(lock.Ticket{By: l.by, Op: string(op), Since: time.Now().UTC().Truncate(time.Second), Token: l.token})
	if err != nil {
		return nil, err
	}
	end := time.Now().Add(o.Wait)
	for reported := false; ; {
		err := l.try(ctx, s, states, op, string(text))
		if err == nil {
			return l, nil
		}
		l.release(ctx)
		if err.Reason != ErrLocked || time.Now().After(end) {
			return nil, err
		}
		if !reported && o.OnWait != nil {
			o.OnWait(err)
		}
		reported = true
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(100*time.Millisecond + mathrand.N(200*time.Millisecond)):
		}
	}
}

func (l *locks) try(ctx context.Context, s *session, states []NodeState, op Op, value string) *Error {
	renewal, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	if client, ok := s.records.server.Caller.(lock.Watcher); ok {
		if err := l.take(ctx, renewal, lock.New("", s.records.server, client, keyLease, value), op); err != nil {
			return err
		}
	}
	errs := make([]*Error, len(s.nodes))
	onEach(s.nodes, func(i int, n *node) {
		if n.Client == nil || !n.loadable() || states[i].Problem != nil {
			return
		}
		key, err := n.lockKey(ctx, states[i].Server)
		if err != nil {
			errs[i] = classifyRecordError(string(op), n.Addr, err)
			return
		}
		errs[i] = l.take(ctx, renewal, lock.New(n.Addr, n.Unpinned(), n.Client, key, value), op)
	})
	var first *Error
	for _, err := range errs {
		if err != nil && (first == nil || first.Reason == ErrLocked && err.Reason != ErrLocked) {
			first = err // waiting does not help against other errors
		}
	}
	return first
}

// take takes a lock and starts its renewal. It also holds a lock that it may have taken.
func (l *locks) take(ctx, renewal context.Context, one *lock.Lock, op Op) *Error {
	holder, takeErr := one.Take(ctx)
	var err *Error
	switch {
	case holder != nil:
		err = lockedError(op, one.Key, lockOf(one.Addr, holder))
	case errors.Is(takeErr, lock.ErrContended):
		err = &Error{Op: string(op), Node: one.Addr, Reason: ErrLocked, Text: takeErr.Error()}
	case takeErr != nil:
		err = classifyRecordError(string(op), one.Addr, takeErr)
	}
	if err == nil || !err.answered() {
		one.StartRenewal(renewal)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held = append(l.held, one)
	}
	return err
}

// fence returns the lock on a node, or nil for a caller without connections.
func (l *locks) fence(n *node) *lock.Lock {
	i := slices.IndexFunc(l.held, func(one *lock.Lock) bool { return one.On(n.Client) && one.Key != keyLease })
	if i < 0 {
		return nil
	}
	return l.held[i]
}

// release ends the renewal and deletes all locks concurrently, even if ctx is over. The error is ErrLockLost if another process
// may have held one of them meanwhile.
func (l *locks) release(ctx context.Context) *Error {
	l.stop()
	lost := make([]bool, len(l.held))
	var wg sync.WaitGroup
	for i, one := range l.held {
		wg.Go(func() { lost[i] = !one.Release(ctx) })
	}
	wg.Wait()
	var first *Error
	more := 0
	for i, one := range l.held {
		switch {
		case !lost[i]:
		case first == nil:
			first = &Error{
				Op: "keep the lock", Node: one.Addr, Reason: ErrLockLost,
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

func lockedError(op Op, key string, l *Lock) *Error {
	e := &Error{Op: string(op), Node: l.Node, Reason: ErrLocked, Lock: l}
	if l.Expires.IsZero() {
		e.Text = fmt.Sprintf("%s has the lock's key, and it never expires; nothing was changed; if no deploy runs: DEL %s", l.By, key)
		return e
	}
	e.Text = fmt.Sprintf("%s has held the lock since %s for a %s; it expires at %s unless it is renewed; nothing was changed",
		l.By, clockTime(l.Since), l.Op, clockTime(l.Expires))
	return e
}

func clockTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
