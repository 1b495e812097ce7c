package loader

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

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

// A Target is the place of a deploy: one server or a cluster, with the replicas.
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
//   - an embedded server.
//
// For other clients, such as a Ring, every method returns ErrUnsupported. A deadline of a context needs a client with
// ContextTimeoutEnabled. An operation opens its own connections to other nodes, with the
// client's user, password, TLS settings, dialer and timeouts, and closes them at its end.
func NewTarget(client fcall.Caller) *Target { return &Target{caller: client} }

// WithoutReplicas returns the target without its replicas: operations neither read them nor wait for them.
func (t *Target) WithoutReplicas() *Target {
	without := *t
	without.primariesOnly = true
	return &without
}

// A node is a Node and a client of it.
type node struct {
	Node
	client  *redis.Client
	problem *Error  // why the node is known to be unreachable, or nil
	answer  *answer // what INFO or HELLO said, or nil
	id      string  // in its cluster
}

// loadable reports whether libraries are loaded on the node. Replicas get them from their primary.
func (n *node) loadable() bool { return n.Follows == "" }

// onEach runs f for all nodes concurrently. A test of interleavings takes them one by one.
var onEach = func(nodes []*node, f func(i int, n *node)) {
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { f(i, n) })
	}
	wg.Wait()
}

// A session holds the nodes of a target for one operation, and the clients opened for it.
type session struct {
	nodes    []*node // primaries by address, each followed by its replicas
	connect  func(addr string) *redis.Client
	opened   []*redis.Client
	warnings []Warning // about the whole target
	records  records   // what deploys write down on the target
}

func (s *session) close() {
	for _, c := range s.opened {
		c.Close()
	}
}

// open discovers the nodes. The caller closes the session.
func (t *Target) open(ctx context.Context, replicas bool) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, classify("find the nodes", "", "", false, err)
	}
	replicas = replicas && !t.primariesOnly
	s := &session{}
	var err error
	switch c := t.caller.(type) {
	case *redis.ClusterClient:
		s.records = records{cluster: c}
		err = s.openCluster(ctx, c.Options(), replicas)
	case *redis.Client:
		if t.address != nil && t.address.options.MasterName != "" {
			err = s.openSentinel(ctx, t.address, replicas)
		} else {
			s.openOne(ctx, c, replicas)
		}
	case interface{ Client() *redis.Client }: // an embedded server
		client := c.Client()
		s.opened = append(s.opened, client)
		s.openOne(ctx, client, replicas)
	default:
		err = &Error{Op: "find the nodes", Reason: ErrUnsupported, Text: fmt.Sprintf("a %T is not a target; pass a *redis.Client, a *redis.ClusterClient or an embedded server", c)}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	s.sort()
	return s, nil
}

// like returns how to open short-lived clients of servers, in database 0, with the options of a client. They do not retry commands, and their
// commands end with their context.
func like(options redis.Options, open func(*redis.Options) *redis.Client) func(addr string) *redis.Client {
	options.DB, options.MaxRetries, options.DialerRetries, options.MinIdleConns = 0, -1, 1, 0
	options.ContextTimeoutEnabled, options.DisableIdentity = true, true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return func(addr string) *redis.Client {
		o := options
		o.Addr, o.Network = addr, "" // a path is a socket's
		return open(&o)
	}
}

// failoverAddr is the address in the options of a NewFailoverClient.
const failoverAddr = "FailoverClient"

// openOne adds one server and its replicas.
func (s *session) openOne(ctx context.Context, c *redis.Client, replicas bool) {
	o := *c.Options()
	n := &node{Node: Node{Addr: o.Addr}, client: c}
	s.connect = like(o, redis.NewClient)
	if o.DB != 0 {
		n.client = s.connect(o.Addr)
		s.opened = append(s.opened, n.client)
	}
	s.nodes, s.records = []*node{n}, records{server: n.client}
	if n.Addr == failoverAddr {
		o.Dialer = nil // the client's dialer only reaches the primary
		s.connect = like(o, redis.NewClient)
		n.Addr = n.localAddr(ctx)
	}
	if replicas {
		s.addReplicas(ctx)
	}
}

// localAddr returns the server's address as the server sees it, or the known one.
func (n *node) localAddr(ctx context.Context) string {
	info, _ := n.client.Do(ctx, "CLIENT", "INFO").Text()
	return cmp.Or(pairs(info, " ")["laddr"], n.Addr)
}

// add adds a server to the session.
func (s *session) add(at Node) *node {
	n := &node{Node: at, client: s.connect(at.Addr)}
	s.opened = append(s.opened, n.client)
	s.nodes = append(s.nodes, n)
	return n
}

// addReplicas asks every node for its replicas, and the replicas for theirs.
func (s *session) addReplicas(ctx context.Context) {
	seen := map[string]bool{}
	for done := 0; done < len(s.nodes); {
		fresh := s.nodes[done:]
		done = len(s.nodes)
		onEach(fresh, func(_ int, n *node) { n.ask(ctx) })
		for _, n := range fresh {
			seen[n.Addr] = true
		}
		for _, n := range fresh {
			for _, addr := range n.answer.replicas {
				if !seen[addr] {
					seen[addr] = true
					s.add(Node{Addr: addr, Role: Replica, Follows: cmp.Or(n.Follows, n.Addr)})
				}
			}
		}
	}
}

// sort orders primaries by address, each followed by its replicas.
func (s *session) sort() {
	slices.SortStableFunc(s.nodes, func(a, b *node) int {
		return cmp.Or(
			strings.Compare(cmp.Or(a.Follows, a.Addr), cmp.Or(b.Follows, b.Addr)),
			cmp.Compare(len(a.Follows), len(b.Follows)),
			strings.Compare(a.Addr, b.Addr),
		)
	})
}
