package loader

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// A Role is what a node is to the others.
type Role string

// The roles. Libraries are loaded on primaries only; replicas get them from there.
const (
	Primary Role = "primary"
	Replica Role = "replica"
)

// A Node is one server of a Target.
type Node struct {
	Addr string `json:"addr"` // "127.0.0.1:7001", the path of a socket, or "embedded"
	Role Role   `json:"role,omitempty"`
	// Follows is the address of the primary whose replica this is, at first or second hand, or empty. A replica that a client was given for instead of its primary
	// follows nobody here: it is what was to be deployed to, and can not be.
	Follows string `json:"follows,omitempty"`
}

// A Target is where libraries are deployed to: one server, a cluster, or the shards of a ring, with their replicas.
type Target struct {
	caller        fcall.Caller
	address       *Address              // of Open, or nil
	opened        redis.UniversalClient // by Open, or nil
	primariesOnly bool
}

// NewTarget returns the target that a client reaches. It sends nothing and does not close the client. The client is one of
//
//   - *redis.Client: the server and its replicas, as INFO names them; also one of NewFailoverClient;
//   - *redis.ClusterClient: every node that CLUSTER NODES names, also a primary that owns no slots yet;
//   - *redis.Ring: the shards of its options, also those that are down, with their replicas (a ring changed by SetAddrs is not seen: give a new one);
//   - an embedded server.
//
// Others are refused by every method with ErrUnsupported. Connections to nodes that the client does not itself have are opened for one
// operation, with the client's user, password, TLS settings, dialer and timeouts, and closed at its end.
func NewTarget(client fcall.Caller) *Target { return &Target{caller: client} }

// WithoutReplicas returns the target without its replicas: they are neither looked at nor waited for.
func (t *Target) WithoutReplicas() *Target {
	without := *t
	without.primariesOnly = true
	return &without
}

// Nodes finds the target's nodes: each primary with its replicas behind it, primaries by address. A node that does not answer has no role, unless the others know it.
func (t *Target) Nodes(ctx context.Context) ([]Node, error) {
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	nodes := make([]Node, len(s.nodes))
	for i, n := range s.nodes {
		nodes[i] = n.Node
	}
	return nodes, nil
}

// node is a Node and the way to it.
type node struct {
	Node
	caller fcall.Caller
	client *redis.Client // nil where the caller is no client of one server
	pinned *redis.Conn   // the one connection that is used while libraries are loaded, or nil
	// problem is why the node can not be reached, where that is known without trying.
	problem *Error
	answer  *answer // what it has said about itself, or nil
	id      string  // in its cluster
	slots   []slotRange
}

// unpinned is the node over any connection but the pinned one.
func (n *node) unpinned() *node { return &node{Node: n.Node, caller: n.caller, client: n.client} }

func (n *node) setClient(c *redis.Client) { n.caller, n.client = c, c }

// loadable tells whether libraries are loaded here, rather than taken over from a primary.
func (n *node) loadable() bool { return n.Follows == "" }

// onEach runs f for all nodes at once.
func onEach(nodes []*node, f func(i int, n *node)) {
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { f(i, n) })
	}
	wg.Wait()
}

// do runs one command. A command that writes is sent once at most: go-redis would repeat it after a lost reply. It returns when ctx ends,
// whatever the node does.
func (n *node) do(ctx context.Context, writes bool, args ...any) (any, error) {
	caller := n.caller
	if n.pinned != nil {
		caller = n.pinned
	}
	cmd := &command{Cmd: redis.NewCmd(ctx, args...), once: writes}
	err := within(ctx, func() error { return caller.Process(ctx, cmd) })
	var reply redis.Error
	if err != nil && !errors.As(err, &reply) {
		n.unpin() // what comes next may have more luck with a new connection
	}
	if err != nil {
		return nil, err
	}
	return cmd.Result()
}

// An unsentError is a command that was not sent because its context had ended.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

// within runs f until ctx ends. go-redis ends a command that waits for its reply at a deadline, but not when a context is cancelled.
func within(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return unsentError{err}
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

type command struct {
	*redis.Cmd
	once bool
}

// NoRetry tells go-redis not to send this command again by itself.
func (c *command) NoRetry() bool { return c.once }
