package loader

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A clusterView is a cluster as one of its nodes sees it.
type clusterView struct {
	seed  string // that node's address
	nodes []clusterNode
	reply any // of CLUSTER SHARDS, or nil
	err   error
}

// openCluster finds the nodes of a cluster. CLUSTER SLOTS and what go-redis makes of it leave out primaries that own no slots; those get
// the libraries before slots move there. A seed that was taken out of the cluster still answers, for itself: the widest view counts.
func (s *session) openCluster(ctx context.Context, o *redis.ClusterOptions, replicas bool) error {
	s.connect = likeCluster(o)
	if o.ClusterSlots != nil {
		return s.openSlots(ctx, o, replicas)
	}
	if len(o.Addrs) == 0 {
		return &Error{Op: "find the nodes", Reason: ErrUnsupported, Text: "the cluster client has no addresses"}
	}
	views := make([]clusterView, len(o.Addrs))
	seeds := &session{connect: s.connect}
	defer seeds.close()
	for _, addr := range o.Addrs {
		seeds.add(Node{Addr: addr})
	}
	onEach(seeds.nodes, func(i int, n *node) { views[i] = n.viewCluster(ctx) })
	best := -1
	for i, v := range views {
		if v.err == nil && (best < 0 || len(v.nodes) > len(views[best].nodes)) {
			best = i
		}
	}
	if best < 0 {
		return noView(views)
	}
	s.addCluster(views[best], replicas)
	return nil
}

func (n *node) viewCluster(ctx context.Context) clusterView {
	v := clusterView{seed: n.Addr}
	reply, err := n.do(ctx, false, "CLUSTER", "NODES")
	if err == nil {
		text, _ := reply.(string)
		v.nodes, err = readClusterNodes(text)
	}
	if err != nil {
		v.err = err
		return v
	}
	v.reply, _ = n.do(ctx, false, "CLUSTER", "SHARDS") // without it, nodes are reached as CLUSTER NODES says
	return v
}

// noView is why none of the seeds can name the nodes.
func noView(views []clusterView) error {
	var first *Error
	var texts []string
	for _, v := range views {
		e := judge("find the nodes", "", "", false, v.err)
		var reply redis.Error
		switch {
		case errors.As(v.err, &reply) && strings.HasPrefix(reply.Error(), "NOPERM"):
			e.Text = reply.Error() + "; a cluster's nodes are found by +cluster|nodes"
		case errors.As(v.err, &reply) && e.Reason == ErrRejected:
			e.Reason = ErrUnsupported
			e.Text = "it does not name its cluster's nodes (" + reply.Error() + "); a server that is no cluster is redis://"
		}
		texts = append(texts, v.seed+": "+e.Text)
		if first == nil || !first.answered() && e.answered() {
			first = e
		}
	}
	first.Text = strings.Join(texts, "; ")
	return first
}

func (s *session) addCluster(v clusterView, replicas bool) {
	s.view = v
	endpoints := readEndpoints(v.reply)
	addrs := map[string]string{}
	for _, c := range v.nodes {
		addrs[c.id] = c.reach(v.seed, endpoints)
	}
	for _, c := range v.nodes {
		at := Node{Addr: addrs[c.id], Role: Primary}
		if c.is("slave") {
			if !replicas {
				continue
			}
			at.Role, at.Follows = Replica, addrs[c.primary]
		}
		n := s.add(at)
		n.id, n.slots = c.id, c.slots
		if why := c.unreachable(); why != "" {
			n.problem = &Error{Op: "check", Node: at.Addr, Reason: ErrUnreachable, Text: why}
		}
	}
}

// unreachable is why it is not even tried to connect to the node, or "".
func (n clusterNode) unreachable() string {
	forget := "; if it is gone for good, `CLUSTER FORGET " + n.id + "` on every other node"
	switch {
	case n.is("noaddr"):
		return "the cluster does not know its address" + forget
	case n.is("handshake"):
		return "it is joining the cluster; try again when it has"
	case n.is("fail") && n.is("slave"):
		return "the cluster has marked it as failed" + forget
	case n.is("fail") && len(n.slots) == 0:
		return "the cluster has marked it as failed, and it owns no slots" + forget
	case n.is("fail"):
		return "the cluster has marked it as failed"
	}
	return ""
}

// openSlots is a cluster that the client's owner has put together, as NewFailoverClusterClient does.
func (s *session) openSlots(ctx context.Context, o *redis.ClusterOptions, replicas bool) error {
	slots, err := o.ClusterSlots(ctx)
	if err != nil {
		e := judge("find the nodes", "", "", false, err)
		e.Text = "the client's own list of nodes can not be had: " + e.Text
		return e
	}
	seen := map[string]bool{}
	for _, r := range slots {
		for i, c := range r.Nodes {
			if seen[c.Addr] || i > 0 && !replicas {
				continue
			}
			seen[c.Addr] = true
			at := Node{Addr: c.Addr, Role: Primary}
			if i > 0 {
				at.Role, at.Follows = Replica, r.Nodes[0].Addr
			}
			s.add(at)
		}
	}
	if len(s.nodes) == 0 {
		return &Error{Op: "find the nodes", Reason: ErrUnsupported, Text: "the client's own list of nodes is empty"}
	}
	if primaries := slices.DeleteFunc(slices.Clone(s.nodes), func(n *node) bool { return !n.loadable() }); len(primaries) == 1 {
		s.book = book{primaries[0].caller} // the client's own connections may be in another database
	}
	return nil
}

// likeCluster connects to a node as the cluster's client does.
func likeCluster(like *redis.ClusterOptions) func(addr string) *redis.Client {
	return func(addr string) *redis.Client {
		return connectNode(&redis.Options{
			ClientName: like.ClientName, Dialer: like.Dialer, OnConnect: like.OnConnect, Protocol: like.Protocol,
			Username: like.Username, Password: like.Password, CredentialsProvider: like.CredentialsProvider,
			CredentialsProviderContext: like.CredentialsProviderContext, StreamingCredentialsProvider: like.StreamingCredentialsProvider,
			DialTimeout: like.DialTimeout, ReadTimeout: like.ReadTimeout, WriteTimeout: like.WriteTimeout, TLSConfig: like.TLSConfig,
		}, addr, like.NewClient)
	}
}
