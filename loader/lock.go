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
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader/internal/cluster"
	"github.com/rlfunc/rlfunc/loader/internal/conn"
	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

// An operation takes one lease for the target and a fence on each primary that it changes.
//
// The lease is one key, so two operations cannot both hold it, even while its hash slot migrates. It cannot keep a process that
// was paused for longer than its TTL from going on, because that process has no way to notice in time. The fence does: it is a
// key on the primary itself, and every load runs in a transaction that watches it. When the fence has expired or belongs to
// somebody else, the primary refuses the transaction.

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

// A Lock is held by an operation on a target or on one node. It expires unless the operation renews it, every 5 s.
type Lock struct {
	Node    string    `json:"node,omitempty"` // empty for the target as a whole
	By      string    `json:"by"`             // the deployer
	Op      Op        `json:"op"`
	Since   time.Time `json:"since"`            // by the deployer's clock
	Expires time.Time `json:"expires,omitzero"` // zero if the key has no TTL
	ID      string    `json:"id"`               // of the operation, as in the history
}

// Lock returns who holds the target: an operation at work, or one that died less than 30 s ago. It returns nil if nobody does.
func (t *Target) Lock(ctx context.Context) (*Lock, error) {
	s, err := t.open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	l, err := readLock(ctx, s.records.server, "", keyLease)
	if err != nil {
		return nil, classifyRecordError("read the lock", "", err)
	}
	return l, nil
}

// readLock returns who holds a key, or nil.
func readLock(ctx context.Context, server *conn.Conn, addr, key string) (*Lock, error) {
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
	l := &Lock{}
	if json.Unmarshal([]byte(text), l) != nil {
		l = &Lock{By: "something that is not rlfunc"}
	}
	l.Node = addr
	if left >= 0 {
		l.Expires = time.Now().Add(time.Duration(left) * time.Millisecond).UTC().Truncate(time.Second)
	}
	return l, nil
}

// fenceKey returns the key of the node's fence, or "" for a primary of a cluster that owns no slots: it takes no keys.
func (n *node) fenceKey(ctx context.Context) (string, error) {
	if !n.ask(ctx).server.Cluster {
		return keyLock, nil
	}
	reply, err := n.Do(ctx, false, "CLUSTER", "NODES")
	if err != nil {
		return "", err
	}
	text, _ := reply.(string)
	return clusterFenceKey(text)
}

// clusterFenceKey returns the key of the fence on the node whose CLUSTER NODES has this text. A node takes only keys of its own
// hash slots, so each primary has its own key.
func clusterFenceKey(nodes string) (string, error) {
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

// lock begins an operation: it takes the lease, and the fence of each primary but those to leave out, whose address leave has.
func (s *session) lock(ctx context.Context, op Op, leave map[string]bool, o LockOptions) (*operation, error) {
	g := &operation{records: s.records, event: Event{ID: rand.Text(), Op: op, By: o.by(), Outcome: Unfinished}}
	text, err := json.Marshal(Lock{By: g.event.By, Op: op, Since: time.Now().UTC().Truncate(time.Second), ID: g.event.ID})
	if err != nil {
		return nil, err
	}
	end := time.Now().Add(o.Wait)
	for reported := false; ; {
		err := g.take(ctx, s, leave, string(text))
		if err == nil {
			return g, nil
		}
		g.release(ctx)
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

// take takes the lease, then all fences at once.
func (g *operation) take(ctx context.Context, s *session, leave map[string]bool, value string) *Error {
	renewal, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.stop = stop
	if client, ok := s.records.server.Caller.(watcher); ok {
		if err := g.hold(ctx, renewal, &fence{key: keyLease, server: s.records.server, client: client, value: value}); err != nil {
			return err
		}
	}
	errs := make([]*Error, len(s.nodes))
	onEach(s.nodes, func(i int, n *node) {
		n.fence = nil
		if n.Client == nil || !n.loadable() || n.problem != nil || leave[n.Addr] || n.ask(ctx).err != nil {
			return // the plan that is made under the lock says why nothing is loaded here
		}
		key, err := n.fenceKey(ctx)
		if err != nil {
			errs[i] = classifyRecordError(string(g.event.Op), n.Addr, err)
			return
		}
		n.fence = &fence{addr: n.Addr, key: key, server: n.Unpinned(), client: n.Client, value: value}
		errs[i] = g.hold(ctx, renewal, n.fence)
	})
	var first *Error
	for _, err := range errs {
		if err != nil && (first == nil || first.Reason == ErrLocked && err.Reason != ErrLocked) {
			first = err // waiting does not help against other errors
		}
	}
	return first
}

// hold takes a key and starts its renewal. It also holds a key that it may have taken.
func (g *operation) hold(ctx, renewal context.Context, f *fence) *Error {
	holder, takeErr := f.take(ctx)
	var err *Error
	switch {
	case holder != nil:
		err = locked(g.event.Op, f.key, holder)
	case errors.Is(takeErr, errContended):
		err = &Error{Op: string(g.event.Op), Node: f.addr, Reason: ErrLocked, Text: takeErr.Error()}
	case takeErr != nil:
		err = classifyRecordError(string(g.event.Op), f.addr, takeErr)
	}
	if err == nil || !err.answered() {
		f.renewing = make(chan struct{})
		go f.renew(renewal)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.held = append(g.held, f)
	}
	return err
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

// release ends the renewal and deletes all keys concurrently, even if ctx is over. The error is ErrLockLost if another process
// may have held one of them meanwhile.
func (g *operation) release(ctx context.Context) *Error {
	g.stop()
	lost := make([]bool, len(g.held))
	var wg sync.WaitGroup
	for i, f := range g.held {
		wg.Go(func() { lost[i] = !f.release(ctx) })
	}
	wg.Wait()
	var first *Error
	more := 0
	for i, f := range g.held {
		switch {
		case !lost[i]:
		case first == nil:
			first = &Error{
				Op: "keep the lock", Node: f.addr, Reason: ErrLockLost,
				Text: "the lock expired or was removed before the operation ended, and another deployer may have been at work; see `rlfunc history`, then run `rlfunc plan`",
			}
		default:
			more++
		}
	}
	if more > 0 {
		first.Text = fmt.Sprintf("%s (and %d more locks)", first.Text, more)
	}
	g.held = nil
	return first
}

// A lock expires lockTTL after its last renewal. Of the renewals before half of that is over, two may fail, or one while a
// transaction runs.
var (
	lockTTL    = 30 * time.Second
	renewEvery = 5 * time.Second
)

// A watcher is a client that can delete a key conditionally.
type watcher interface {
	fcall.Caller
	Watch(ctx context.Context, fn func(*redis.Tx) error, keys ...string) error
}

// A fence is one key that an operation holds, of its lease or on a primary. One without a key is always held.
type fence struct {
	addr string // of the primary, for errors
	key  string

	server *conn.Conn
	client watcher
	value  string // unique: the key belongs to the operation that wrote it

	running  atomic.Int32  // transactions
	renewing chan struct{} // closed when renewal has ended
	renewed  time.Time     // when the key was last taken or renewed
}

var errContended = errors.New("other deployers take the lock in turn; try again")

// take takes the key, or returns its present holder.
func (f *fence) take(ctx context.Context) (*Lock, error) {
	f.renewed = time.Now()
	if f.key == "" {
		return nil, nil
	}
	for range 3 {
		_, err := f.server.Do(ctx, true, "SET", f.key, f.value, "NX", "PX", lockTTL.Milliseconds())
		if !errors.Is(err, redis.Nil) {
			return nil, err
		}
		holder, err := readLock(ctx, f.server, f.addr, f.key)
		if holder != nil || err != nil {
			return holder, err
		}
	}
	return nil, errContended
}

// renew renews the key until ctx ends. It does not take a lost key again: another operation may have held it in between, and
// transactions are refused from then on. A renewal makes a running transaction fail, so it is put off once, unless the last one failed.
func (f *fence) renew(ctx context.Context) {
	defer close(f.renewing)
	if f.key == "" {
		return
	}
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for fresh := true; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if fresh && f.running.Load() > 0 {
			fresh = false
			continue
		}
		sent := time.Now()
		try, cancel := context.WithTimeout(ctx, renewEvery)
		// GETEX returns the value and sets the TTL in one step. Extending another operation's lock once does no harm.
		reply, err := f.server.Do(try, true, "GETEX", f.key, "PX", lockTTL.Milliseconds())
		cancel()
		fresh = err == nil
		switch {
		case err == nil && reply == f.value:
			f.renewed = sent
		case err == nil || errors.Is(err, redis.Nil):
			return // it is lost, as release will find
		}
	}
}

var errNotOwn = errors.New("the lock belongs to another process")

// release deletes the key, and reports whether this operation held it until then. The renewal's context must have ended. A key
// that cannot be deleted expires.
func (f *fence) release(ctx context.Context) (held bool) {
	<-f.renewing
	if f.key == "" {
		return true
	}
	ctx, cancel := conn.ForCleanup(ctx)
	defer cancel()
	deleted := false // perhaps, by a try whose answer was lost
	var err error
	for range 3 { // a renewal that timed out may still touch the key once, and a failover ends connections
		err = f.delete(ctx)
		if err == nil || errors.Is(err, errNotOwn) {
			break
		}
		deleted = deleted || !errors.Is(err, redis.TxFailedErr)
	}
	return err == nil || (deleted || !errors.Is(err, errNotOwn)) && time.Since(f.renewed) < lockTTL
}

func (f *fence) delete(ctx context.Context) error {
	return conn.Within(ctx, func() error {
		return f.client.Watch(ctx, func(tx *redis.Tx) error {
			value, err := tx.Get(ctx, f.key).Result()
			if errors.Is(err, redis.Nil) || err == nil && value != f.value {
				return errNotOwn
			}
			if err == nil {
				_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Del(ctx, f.key).Err() })
			}
			return err
		}, f.key)
	})
}

// transaction runs commands on the primary, and only while this operation holds the fence. commands reads over the same
// connection, after the key is watched, and returns what to run; its error ends the transaction. ErrLockLost means that nothing
// has run.
func (f *fence) transaction(ctx context.Context, server *conn.Conn, commands func(*conn.Conn) ([][]any, error)) ([]any, error) {
	on := server
	if !server.Pinned() {
		// An own connection, because it may still watch the key afterwards.
		on = server.Unpinned()
		on.Pin()
		defer on.Unpin()
	}
	f.running.Add(1)
	defer f.running.Add(-1)
	// This operation's own renewal of the key also fails the transaction. Then nothing has run, and the next try may succeed.
	for range 10 {
		replies, err := f.try(ctx, on, commands)
		if !errors.Is(err, redis.Nil) {
			return replies, err
		}
	}
	return nil, f.lostError()
}

func (f *fence) lostError() *Error {
	return &Error{
		Node: f.addr, Reason: ErrLockLost,
		Text: "the lock was lost: this process paused for longer than the lock lasts, or the lock was removed, and another deployer may be at work; nothing was loaded; see `rlfunc status`, then deploy again",
	}
}

// try runs the transaction once. redis.Nil means that the key was touched.
func (f *fence) try(ctx context.Context, on *conn.Conn, commands func(*conn.Conn) ([][]any, error)) ([]any, error) {
	if f.key != "" {
		if _, err := on.Do(ctx, true, "WATCH", f.key); err != nil {
			return nil, err
		}
		value, err := on.Do(ctx, true, "GET", f.key)
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, err
		}
		if value != f.value {
			return nil, f.lostError()
		}
	}
	run, err := commands(on)
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
