package loader

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// A session is the nodes of a target, found for one operation, and the connections that were opened to them.
type session struct {
	nodes []*node // each primary by address, followed by its replicas
	// connect returns a client of one more server; nil where there can be none.
	connect  func(addr string) *redis.Client
	opened   []io.Closer
	warnings []Warning   // about the target as a whole
	view     clusterView // of a cluster
	book     book        // what deploys write down on the target
}

func (s *session) close() {
	for _, c := range s.opened {
		c.Close()
	}
}

// open finds the nodes. The caller closes the session.
func (t *Target) open(ctx context.Context, replicas bool) (*session, error) {
	refuse := func(reason Reason, why string, cause error) (*session, error) {
		return nil, &Error{Op: "find the nodes", Reason: reason, Text: why, Cause: cause}
	}
	if err := ctx.Err(); err != nil {
		return nil, judge("find the nodes", "", "", false, err)
	}
	replicas = replicas && !t.primariesOnly
	s := &session{}
	var err error
	switch c := t.caller.(type) {
	case nil:
		return refuse(ErrUnsupported, "there is no client", nil)
	case redis.Pipeliner, *redis.AutoPipeliner:
		return refuse(ErrUnsupported, "a pipeline can not be deployed to; give the client that made it", nil)
	case *redis.ClusterClient:
		s.book = book{c}
		err = s.openCluster(ctx, c.Options(), replicas)
	case *redis.Ring:
		s.book = book{s.inDatabase0(c)}
		s.openRing(ctx, c.Options(), replicas)
	case *redis.Client:
		if t.address != nil && t.address.kind == ofSentinel {
			err = s.openSentinel(ctx, t.address, replicas)
			break
		}
		s.connect = likeClient(c.Options())
		if t.address != nil {
			s.connect = likeClient(t.address.options)
		}
		s.openOne(ctx, c, replicas)
	default:
		s.nodes = []*node{{Node: Node{Addr: "embedded"}, caller: t.caller}}
		s.book = book{t.caller}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	s.sort()
	return s, nil
}

// failoverAddr is what go-redis says where the sentinels' answer belongs.
const failoverAddr = "FailoverClient"

// openOne is one server, with its replicas.
func (s *session) openOne(ctx context.Context, c *redis.Client, replicas bool) {
	n := &node{Node: Node{Addr: c.Options().Addr}}
	n.setClient(s.inDatabase0(c).(*redis.Client))
	s.nodes, s.book = []*node{n}, book{n.caller}
	if n.Addr == failoverAddr {
		o := *c.Options()
		o.Dialer = nil // the client's own leads to the primary only
		s.connect = likeClient(&o)
		n.Addr = n.localAddr(ctx)
	}
	if replicas {
		s.addReplicas(ctx)
	}
}

// localAddr is the server's address as it sees it, or what is known without it.
func (n *node) localAddr(ctx context.Context) string {
	reply, err := n.do(ctx, false, "CLIENT", "INFO")
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

// add puts one more server into the session.
func (s *session) add(at Node) *node {
	c := s.connect(at.Addr)
	s.opened = append(s.opened, c)
	n := &node{Node: at}
	n.setClient(c)
	s.nodes = append(s.nodes, n)
	return n
}

// addReplicas asks every node what it is, and so for the replicas that it names, and theirs.
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

// sort puts each primary before its replicas, and primaries by address.
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

// likeClient connects as a client of one server does.
func likeClient(like *redis.Options) func(addr string) *redis.Client {
	return func(addr string) *redis.Client {
		o := *like
		o.Network, o.DB = "tcp", 0
		return connectNode(&o, addr, redis.NewClient)
	}
}

// connectNode opens a client of one node, for a short time. It does not repeat a command by itself, and ends with the context.
func connectNode(o *redis.Options, addr string, open func(*redis.Options) *redis.Client) *redis.Client {
	o.Addr = addr
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.ContextTimeoutEnabled = true
	o.MinIdleConns = 0
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if onConnect := o.OnConnect; onConnect != nil {
		o.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
			if err := onConnect(ctx, conn); err != nil {
				return err
			}
			// It may have chosen another database. A user without the permission for SELECT is in database 0 anyway.
			var refusal redis.Error
			if err := conn.Select(ctx, 0).Err(); !errors.As(err, &refusal) {
				return err
			}
			return nil
		}
	}
	return open(o)
}
