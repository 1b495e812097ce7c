package loader

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// A Role is a node's part in replication.
type Role string

// The roles. Libraries are loaded on primaries only; replicas receive them by replication.
const (
	Primary Role = "primary"
	Replica Role = "replica"
)

// A Node is one server of a Target.
type Node struct {
	Addr string `json:"addr"` // "127.0.0.1:7001", a socket's path, or "embedded"
	Role Role   `json:"role,omitempty"`
	// Follows is the address of the primary that this replica follows, directly or through another replica, or empty. It is
	// empty for a replica that the client names instead of a primary: such a node was to be deployed to, and cannot be.
	Follows string `json:"follows,omitempty"`
}

// A Target is the place of a deploy: one server, a cluster, or the shards of a ring, with their replicas.
type Target struct {
	caller        fcall.Caller
	address       *Address              // of Open, or nil
	opened        redis.UniversalClient // by Open, or nil
	primariesOnly bool
}

// NewTarget returns the target that a client reaches. It sends nothing and does not close the client. The client is one of
//
//   - *redis.Client, also of NewFailoverClient: the server and the replicas that INFO lists;
//   - *redis.ClusterClient: every node that CLUSTER NODES lists, including primaries without slots;
//   - *redis.Ring: the shards of its options, including those that are down, with their replicas. SetAddrs has no effect on the target;
//   - an embedded server.
//
// For other clients every method returns ErrUnsupported. An operation opens its own connections to other nodes, with the
// client's user, password, TLS settings, dialer and timeouts, and closes them at its end.
func NewTarget(client fcall.Caller) *Target { return &Target{caller: client} }

// WithoutReplicas returns the target without its replicas: operations neither read them nor wait for them.
func (t *Target) WithoutReplicas() *Target {
	without := *t
	without.primariesOnly = true
	return &without
}

// Nodes lists the target's nodes, primaries by address, each followed by its replicas. A node that does not answer has no role
// unless other nodes know it.
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

// Each calls f concurrently for every node that may be reachable, with a client of that node alone, and closes the clients
// afterwards.
func (t *Target) Each(ctx context.Context, f func(ctx context.Context, n Node, client fcall.Caller)) error {
	s, err := t.open(ctx, true)
	if err != nil {
		return err
	}
	defer s.close()
	onEach(s.nodes, func(_ int, n *node) {
		if n.problem == nil {
			f(ctx, n.Node, n.Caller)
		}
	})
	return nil
}
