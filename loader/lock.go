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
	"time"

	"github.com/redis/go-redis/v9"
)

// A lock outlives the death of its owner by less than lockTTL, and its owner may miss one renewal.
var (
	lockTTL   = 30 * time.Second
	lockRenew = 10 * time.Second
)

const lockPoll = 200 * time.Millisecond

// LockOptions say who changes a target, and how long another deployer is waited for.
type LockOptions struct {
	// By is written into the lock, the records and the history: a person, or the address of a pipeline's run. Defaults to user@host and the
	// number of the process.
	By string
	// Wait is how long to wait for the end of another deployer. Defaults to not waiting.
	Wait time.Duration
	// OnWait is called once with the ErrLocked that is waited out. Defaults to nothing.
	OnWait func(*Error)
}

func (o LockOptions) by() string {
	if o.By != "" {
		return oneLine(o.By)
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

// A Lock is a deployer's hold on a node. It expires unless its owner renews it, which happens every ten seconds.
type Lock struct {
	Node    string    `json:"node"`
	By      string    `json:"by"`    // who holds it
	Op      Op        `json:"op"`    // what for
	Since   time.Time `json:"since"` // by the owner's clock
	Expires time.Time `json:"expires"`
}

// ticket is what the lock's key holds. Its text is unique, and being equal to it is what makes a lock one's own.
type ticket struct {
	By    string    `json:"by"`
	Op    Op        `json:"op"`
	Since time.Time `json:"since"`
	Token string    `json:"token"`
}

// lock is a node's lock that this process holds, or a node without one.
type lock struct {
	node  *node
	key   string // empty for a primary without slots, which takes no keys
	value string
}

// locks are those of an operation, renewed until release.
type locks struct {
	token string
	by    string
	held  map[string]*lock // by address
	stop  context.CancelFunc
	done  chan struct{}
}

// lockAll takes the locks of all nodes, or none. The order is the nodes', which is by address: two deployers that begin at once meet at the first.
func lockAll(ctx context.Context, nodes []*node, states []NodeState, op Op, o LockOptions) (*locks, error) {
	l := &locks{token: rand.Text(), by: o.by(), done: make(chan struct{})}
	text, err := json.Marshal(ticket{By: l.by, Op: op, Since: time.Now().UTC().Truncate(time.Second), Token: l.token})
	if err != nil {
		return nil, err
	}
	end := time.Now().Add(o.Wait)
	for told := false; ; {
		err := l.tryAll(ctx, nodes, states, op, string(text))
		if err == nil {
			break
		}
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
	renewal, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	go l.renew(renewal)
	return l, nil
}

func (l *locks) tryAll(ctx context.Context, nodes []*node, states []NodeState, op Op, value string) *Error {
	l.held = map[string]*lock{}
	for i, n := range nodes {
		if !n.loadable() || states[i].Problem != nil {
			continue
		}
		one, err := n.lock(ctx, states[i].Server, op, value)
		if err != nil {
			l.giveBack(ctx)
			return err
		}
		if one != nil {
			l.held[n.Addr] = one
		}
	}
	return nil
}

// lock takes the lock of a node. It is nil without an error where the caller has no connections of its own to watch a key on: the embedded
// server inside this process.
func (n *node) lock(ctx context.Context, server Server, op Op, value string) (*lock, *Error) {
	if n.client == nil {
		return nil, nil
	}
	key, err := n.lockKey(ctx, server)
	if err != nil {
		return nil, judgeState(string(op), n.Addr, err)
	}
	l := &lock{node: n, key: key, value: value}
	if key == "" {
		return l, nil
	}
	for range 3 {
		_, err := n.do(ctx, true, "SET", l.key, value, "NX", "PX", lockTTL.Milliseconds())
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, redis.Nil) {
			e := judgeState(string(op), n.Addr, err)
			if !e.answered() {
				l.giveBack(ctx) // it may have been taken
			}
			return nil, e
		}
		holder, err := n.holder(ctx, l.key)
		if err != nil {
			return nil, judgeState(string(op), n.Addr, err)
		}
		if holder != nil {
			return nil, locked(op, l.key, holder)
		}
	}
	return nil, &Error{Op: string(op), Node: n.Addr, Reason: ErrLocked, Text: "other deployers take the lock by turns; try again"}
}

// lockKey is the lock's name on the node, or empty where it takes no keys.
func (n *node) lockKey(ctx context.Context, server Server) (string, error) {
	if !server.Cluster {
		return lockKey(-1), nil
	}
	reply, err := n.do(ctx, false, "CLUSTER", "NODES")
	if err != nil {
		return "", err
	}
	text, _ := reply.(string)
	owned, err := ownSlots(text)
	if err != nil {
		return "", err
	}
	number, ok := lockNumber(owned)
	if !ok {
		return "", nil
	}
	return lockKey(number), nil
}

// Locks lists who holds the target's nodes: a deployer that is at work, or one that died less than half a minute ago.
func (t *Target) Locks(ctx context.Context) ([]Lock, error) {
	s, err := t.WithoutReplicas().open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	held := make([]*Lock, len(s.nodes))
	errs := make([]error, len(s.nodes))
	onEach(s.nodes, func(i int, n *node) {
		if n.problem != nil {
			return
		}
		key, err := n.lockKey(ctx, n.ask(ctx).server)
		if err == nil && key != "" {
			held[i], err = n.holder(ctx, key)
		}
		if err != nil {
			errs[i] = judgeState("read the lock", n.Addr, err)
		}
	})
	locks := []Lock{}
	for _, l := range held {
		if l != nil {
			locks = append(locks, *l)
		}
	}
	return locks, errors.Join(errs...)
}

// holder reads who has the lock, or nil.
func (n *node) holder(ctx context.Context, key string) (*Lock, error) {
	reply, err := n.do(ctx, false, "GET", key)
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, _ := reply.(string)
	reply, err = n.do(ctx, false, "PTTL", key)
	if err != nil {
		return nil, err
	}
	left, _ := reply.(int64)
	if left == -2 {
		return nil, nil
	}
	var t ticket
	if json.Unmarshal([]byte(text), &t) != nil {
		t = ticket{By: "something that is not rlfunc"}
	}
	lock := &Lock{Node: n.Addr, By: t.By, Op: t.Op, Since: t.Since}
	if left >= 0 {
		lock.Expires = time.Now().Add(time.Duration(left) * time.Millisecond).UTC().Truncate(time.Second)
	}
	return lock, nil
}

func locked(op Op, key string, l *Lock) *Error {
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

// renew keeps the locks alive. A lock that is lost is not taken again: another deployer may have been there, and the fence stops this one.
func (l *locks) renew(ctx context.Context) {
	defer close(l.done)
	tick := time.NewTicker(lockRenew)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, one := range l.held {
			_ = one.renew(ctx) // a lock that can not be renewed expires
		}
	}
}

// release ends the renewal and gives the locks back, also when ctx is over.
func (l *locks) release(ctx context.Context) {
	l.stop()
	<-l.done
	l.giveBack(ctx)
}

func (l *locks) giveBack(ctx context.Context) {
	for _, one := range l.held {
		one.giveBack(ctx)
	}
	l.held = nil
}

func (l *lock) renew(ctx context.Context) error {
	if l.key == "" {
		return nil
	}
	_, err := l.guarded(ctx, nil, func(context.Context, *node) ([][]any, error) {
		return [][]any{{"SET", l.key, l.value, "XX", "PX", lockTTL.Milliseconds()}}, nil
	})
	return err
}

// giveBack deletes the lock if it is still one's own. If that fails the lock expires.
func (l *lock) giveBack(ctx context.Context) {
	if l.key == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, _ = l.guarded(ctx, nil, func(context.Context, *node) ([][]any, error) { return [][]any{{"DEL", l.key}}, nil })
}
