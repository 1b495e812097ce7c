package loader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/hashslot"
	"github.com/rlfunc/rlfunc/loader/internal/cluster"
	"github.com/rlfunc/rlfunc/loader/internal/conn"
)

// A clusterView is a cluster as one of its nodes sees it.
type clusterView struct {
	seed  string // that node's address
	nodes []cluster.Node
	reply any // of CLUSTER SHARDS, or nil
	err   error
}

// openCluster discovers the nodes of a cluster. CLUSTER SLOTS, and so go-redis, omits primaries without slots; those receive
// the libraries before slots move there. A seed that was removed from the cluster still answers for itself, so openCluster uses
// the view with the most nodes.
func (s *session) openCluster(ctx context.Context, o *redis.ClusterOptions, replicas bool) error {
	s.connect = conn.LikeCluster(o)
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
	reply, err := n.Do(ctx, false, "CLUSTER", "NODES")
	if err == nil {
		text, _ := reply.(string)
		v.nodes, err = cluster.ParseNodes(text)
	}
	if err != nil {
		v.err = err
		return v
	}
	v.reply, _ = n.Do(ctx, false, "CLUSTER", "SHARDS") // without the reply, CLUSTER NODES has the addresses
	return v
}

// noView returns why no seed lists the nodes.
func noView(views []clusterView) error {
	var first *Error
	var texts []string
	for _, v := range views {
		e := classify("find the nodes", "", "", false, v.err)
		var reply redis.Error
		switch {
		case errors.As(v.err, &reply) && strings.HasPrefix(reply.Error(), "NOPERM"):
			e.Text = reply.Error() + "; the user needs +cluster|nodes"
		case errors.As(v.err, &reply) && e.Reason == ErrRejected:
			e.Reason = ErrUnsupported
			e.Text = "it does not list a cluster's nodes (" + reply.Error() + "); if the server is not a cluster node, use redis://"
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
	endpoints := cluster.Endpoints(v.reply)
	addrs := map[string]string{}
	for _, c := range v.nodes {
		addrs[c.ID] = c.Addr(v.seed, endpoints)
	}
	for _, c := range v.nodes {
		at := Node{Addr: addrs[c.ID], Role: Primary}
		if c.Is("slave") {
			if !replicas {
				continue
			}
			at.Role, at.Follows = Replica, addrs[c.Primary]
		}
		n := s.add(at)
		n.id = c.ID
		if why := unreachable(c); why != "" {
			n.problem = &Error{Op: "check", Node: at.Addr, Reason: ErrUnreachable, Text: why}
		}
	}
}

// unreachable returns why connecting to the node is pointless, or "".
func unreachable(n cluster.Node) string {
	forget := "; if it is gone for good, `CLUSTER FORGET " + n.ID + "` on every other node"
	switch {
	case n.Is("noaddr"):
		return "the cluster does not know its address" + forget
	case n.Is("handshake"):
		return "it is joining the cluster; try again when it has"
	case n.Is("fail") && n.Is("slave"):
		return "the cluster has marked it as failed" + forget
	case n.Is("fail") && len(n.Slots) == 0:
		return "the cluster has marked it as failed, and it owns no slots" + forget
	case n.Is("fail"):
		return "the cluster has marked it as failed"
	}
	return ""
}

// openSlots adds the nodes of a client with its own ClusterSlots, such as NewFailoverClusterClient.
func (s *session) openSlots(ctx context.Context, o *redis.ClusterOptions, replicas bool) error {
	slots, err := o.ClusterSlots(ctx)
	if err != nil {
		e := classify("find the nodes", "", "", false, err)
		e.Text = "the client's ClusterSlots failed: " + e.Text
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
		return &Error{Op: "find the nodes", Reason: ErrUnsupported, Text: "the client's ClusterSlots returned no nodes"}
	}
	if primaries := slices.DeleteFunc(slices.Clone(s.nodes), func(n *node) bool { return !n.loadable() }); len(primaries) == 1 {
		s.records = records{primaries[0].Unpinned()} // the client's own connections may use another database
	}
	return nil
}

// clusterHealth returns warnings about the cluster. It asks every primary, because only a primary lists its own migrating
// slots.
func (s *session) clusterHealth(ctx context.Context) []Warning {
	warnings := s.view.health()
	views := make([]clusterView, len(s.nodes))
	onEach(s.nodes, func(i int, n *node) {
		if n.loadable() && n.problem == nil {
			views[i] = n.viewCluster(ctx)
		}
	})
	for i, v := range views {
		if v.nodes == nil {
			continue
		}
		addr := s.nodes[i].Addr
		if !maps.Equal(v.slotOwners(), s.view.slotOwners()) {
			warnings = append(warnings, warning("views_differ",
				addr+" and "+s.view.seed+" see different nodes or slots; nodes may be joining or partitioned", "see `redis-cli --cluster check "+addr+"`"))
		}
		for _, n := range v.nodes {
			if n.Is("myself") && len(n.Moving) > 0 {
				warnings = append(warnings, warning("slots_moving",
					"slots are migrating at "+addr+": "+strings.Join(n.Moving[:min(len(n.Moving), 3)], ", "),
					"if no migration is running, see `redis-cli --cluster fix "+addr+"`"))
			}
		}
	}
	return warnings
}

// health returns warnings about the cluster as one node sees it.
func (v clusterView) health() []Warning {
	var warnings []Warning
	for _, n := range v.nodes {
		if n.Is("fail?") {
			warnings = append(warnings, warning("node_failing", v.seed+" cannot reach "+n.Addr(v.seed, nil)+" of its cluster", "see `redis-cli --cluster check "+v.seed+"`"))
		}
	}
	if count, first := cluster.Uncovered(v.nodes); count > 0 {
		warnings = append(warnings, warning("slots_uncovered",
			fmt.Sprintf("%d of %d hash slots have no working primary, the first is slot %d: calls to keys there fail, and by default all calls", count, hashslot.Count, first),
			"see `redis-cli --cluster fix "+v.seed+"`"))
	}
	return warnings
}

// slotOwners returns the nodes and the slots that they own.
func (v clusterView) slotOwners() map[string]string {
	owners := map[string]string{}
	for _, n := range v.nodes {
		owners[n.ID] = fmt.Sprint(n.Primary, n.Slots)
	}
	return owners
}
