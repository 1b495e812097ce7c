package loader

import (
	"cmp"
	"context"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader/internal/conn"
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

// A node is a Node and the connection to it.
type node struct {
	Node
	*conn.Conn
	problem *Error  // why the node is known to be unreachable, or nil
	answer  *answer // what INFO or HELLO said, or nil
	id      string  // in its cluster
	fence   *fence  // of the operation that may load libraries here, or nil
}

// loadable reports whether libraries are loaded on the node. Replicas get them from their primary.
func (n *node) loadable() bool { return n.Follows == "" }

// onEach runs f for all nodes concurrently.
func onEach(nodes []*node, f func(i int, n *node)) {
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { f(i, n) })
	}
	wg.Wait()
}

// A session holds the nodes of a target for one operation, and the connections opened to them.
type session struct {
	nodes []*node // primaries by address, each followed by its replicas
	// connect opens a client of another server. It is nil if there can be none.
	connect  conn.Dialer
	opened   []io.Closer
	warnings []Warning   // about the whole target
	view     clusterView // of a cluster
	records  records     // what deploys write down on the target
}

func (s *session) close() {
	for _, c := range s.opened {
		c.Close()
	}
}

// open discovers the nodes. The caller closes the session.
func (t *Target) open(ctx context.Context, replicas bool) (*session, error) {
	refuse := func(reason Reason, why string, cause error) (*session, error) {
		return nil, &Error{Op: "find the nodes", Reason: reason, Text: why, Cause: cause}
	}
	if err := ctx.Err(); err != nil {
		return nil, classify("find the nodes", "", "", false, err)
	}
	replicas = replicas && !t.primariesOnly
	s := &session{}
	var err error
	switch c := t.caller.(type) {
	case nil:
		return refuse(ErrUnsupported, "the client is nil", nil)
	case redis.Pipeliner, *redis.AutoPipeliner:
		return refuse(ErrUnsupported, "a pipeline is not a target; pass the client that made it", nil)
	case *redis.ClusterClient:
		s.records = records{conn.Of(c)}
		err = s.openCluster(ctx, c.Options(), replicas)
	case *redis.Ring:
		s.records = records{conn.Of(s.inDatabase0(c))}
		s.openRing(ctx, c.Options(), replicas)
	case *redis.Client:
		if t.address != nil && t.address.kind == sentinelKind {
			err = s.openSentinel(ctx, t.address, replicas)
			break
		}
		s.connect = conn.LikeClient(c.Options())
		if t.address != nil {
			s.connect = conn.LikeClient(t.address.options)
		}
		s.openOne(ctx, c, replicas)
	default:
		s.nodes = []*node{{Node: Node{Addr: "embedded"}, Conn: conn.Of(t.caller)}}
		s.records = records{conn.Of(t.caller)}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	s.sort()
	return s, nil
}

// failoverAddr is the address in the options of a NewFailoverClient.
const failoverAddr = "FailoverClient"

// openOne adds one server and its replicas.
func (s *session) openOne(ctx context.Context, c *redis.Client, replicas bool) {
	n := &node{Node: Node{Addr: c.Options().Addr}, Conn: conn.Of(s.inDatabase0(c))}
	s.nodes, s.records = []*node{n}, records{n.Unpinned()}
	if n.Addr == failoverAddr {
		o := *c.Options()
		o.Dialer = nil // the client's dialer only reaches the primary
		s.connect = conn.LikeClient(&o)
		n.Addr = n.localAddr(ctx)
	}
	if replicas {
		s.addReplicas(ctx)
	}
}

// localAddr returns the server's address as the server sees it, or the known one.
func (n *node) localAddr(ctx context.Context) string {
	reply, err := n.Do(ctx, false, "CLIENT", "INFO")
	if err != nil {
		return n.Addr
	}
	text, _ := reply.(string)
	for field := range strings.FieldsSeq(text) {
		if addr, ok := strings.CutPrefix(field, "laddr="); ok {
			return addr
		}
	}
	return n.Addr
}

// add adds a server to the session.
func (s *session) add(at Node) *node {
	c := s.connect(at.Addr)
	s.opened = append(s.opened, c)
	n := &node{Node: at, Conn: conn.Of(c)}
	s.nodes = append(s.nodes, n)
	return n
}

// addReplicas asks every node for its replicas, and the replicas for theirs.
func (s *session) addReplicas(ctx context.Context) {
	seen := map[string]bool{}
	for done := 0; done < len(s.nodes); {
		fresh := s.nodes[done:]
		done = len(s.nodes)
		onEach(fresh, func(_ int, n *node) { n.askFor(ctx) })
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

// askFor asks the node. A replica may take half of the time that is left: the primaries have more questions to come.
func (n *node) askFor(ctx context.Context) {
	if end, ok := ctx.Deadline(); ok && n.Follows != "" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	n.ask(ctx)
}

// sort orders primaries by address, each followed by its replicas.
func (s *session) sort() {
	group := func(n *node) string { return cmp.Or(n.Follows, n.Addr) }
	slices.SortStableFunc(s.nodes, func(a, b *node) int {
		return cmp.Or(
			compareAddrs(group(a), group(b)),
			cmp.Compare(len(a.Follows), len(b.Follows)),
			compareAddrs(a.Addr, b.Addr),
		)
	})
}

func compareAddrs(a, b string) int {
	aHost, aPort := splitAddr(a)
	bHost, bPort := splitAddr(b)
	return cmp.Or(cmp.Compare(aHost, bHost), cmp.Compare(aPort, bPort))
}

func splitAddr(addr string) (string, int) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr, 0
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return addr, 0
	}
	return host, n
}

// openRing adds every shard of a ring and its replicas. The ring itself omits shards that it considers down.
func (s *session) openRing(ctx context.Context, o *redis.RingOptions, replicas bool) {
	s.connect = conn.LikeRing(o)
	var addrs []string
	for _, addr := range o.Addrs {
		addrs = append(addrs, addr)
	}
	slices.Sort(addrs)
	for _, addr := range slices.Compact(addrs) {
		s.add(Node{Addr: addr})
	}
	if replicas {
		s.addReplicas(ctx)
	}
}

// inDatabase0 returns the client in database 0, and closes it with the session.
func (s *session) inDatabase0(c fcall.Caller) fcall.Caller {
	zero, own := conn.InDatabase0(c)
	if own != nil {
		s.opened = append(s.opened, own)
	}
	return zero
}
