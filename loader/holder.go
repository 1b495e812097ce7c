package loader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Lock is a deployer's hold on a target or a node. It expires unless its owner renews it, which happens every five seconds.
type Lock struct {
	Node    string    `json:"node,omitempty"` // empty for the target as a whole
	By      string    `json:"by"`             // who holds it
	Op      Op        `json:"op"`             // what for
	Since   time.Time `json:"since"`          // by the owner's clock
	Expires time.Time `json:"expires"`

	token string
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
	return memberLockKey(text)
}

// memberLockKey is the lock's name on the node whose CLUSTER NODES has this text, or empty where it owns no slot.
func memberLockKey(nodes string) (string, error) {
	owned, err := ownSlots(nodes)
	if err != nil {
		return "", err
	}
	number, ok := lockNumber(owned)
	if !ok {
		return "", nil
	}
	return lockKey(number), nil
}

// Locks lists the deployers that hold the target or one of its nodes: one that is at work, or one that died less than half a minute ago. The
// fences of the deployer that holds the target are not among them.
func (t *Target) Locks(ctx context.Context) ([]Lock, error) {
	s, err := t.open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	lease, err := s.book.node().holder(ctx, keyLease)
	if err != nil {
		return nil, judgeState("read the lock", "", err)
	}
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
	if lease != nil {
		locks = append(locks, *lease)
	}
	for _, l := range held {
		if l != nil && (lease == nil || l.token != lease.token) {
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
	lock := &Lock{Node: n.Addr, By: t.By, Op: t.Op, Since: t.Since, token: t.Token}
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
