package loader

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/servers"
)

// openCluster discovers the nodes of a cluster. CLUSTER SLOTS, and so go-redis, omits primaries without slots; those receive
// the libraries before slots move there. A seed that was removed from the cluster still answers for itself, so openCluster uses
// the view with the most nodes.
func (s *session) openCluster(ctx context.Context, o *redis.ClusterOptions, replicas bool) error {
	s.connect = like(redis.Options{
		ClientName: o.ClientName, Dialer: o.Dialer, OnConnect: o.OnConnect, Protocol: o.Protocol,
		Username: o.Username, Password: o.Password, CredentialsProvider: o.CredentialsProvider,
		CredentialsProviderContext: o.CredentialsProviderContext, StreamingCredentialsProvider: o.StreamingCredentialsProvider,
		DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout, TLSConfig: o.TLSConfig,
	}, o.NewClient)
	if len(o.Addrs) == 0 {
		return &Error{Op: "find the nodes", Reason: ErrUnsupported, Text: "the client names no node of a cluster; behind Sentinel, pass one of NewFailoverClient"}
	}
	seeds := &session{connect: s.connect}
	defer seeds.close()
	for _, addr := range o.Addrs {
		seeds.add(Node{Addr: addr})
	}
	views, silent := make([][]*member, len(o.Addrs)), make([]*Error, len(o.Addrs))
	onEach(seeds.nodes, func(i int, n *node) { views[i], silent[i] = n.members(ctx) })
	largest := slices.MaxFunc(views, func(a, b []*member) int { return cmp.Compare(len(a), len(b)) })
	if largest == nil {
		return unfound("", silent)
	}
	addrs := map[string]string{}
	for _, m := range largest {
		addrs[m.id] = m.addr
	}
	for _, m := range largest {
		at := Node{Addr: m.addr, Role: Primary}
		if m.is("slave") {
			at.Role, at.Follows = Replica, addrs[m.primary]
			if !replicas {
				continue
			}
		}
		n := s.add(at)
		n.id = m.id
		if why := m.unreachable(); why != "" {
			n.problem = &Error{Op: "check", Node: at.Addr, Reason: ErrUnreachable, Text: why}
		}
	}
	return nil
}

// unfound returns why none of several servers tells where the nodes are.
func unfound(why string, silent []*Error) *Error {
	e := &Error{Op: "find the nodes", Reason: ErrUnreachable, Text: why}
	for i, s := range silent {
		if i == 0 || !e.answered() && s.answered() {
			e.Reason, e.Cause = s.Reason, s.Cause
		}
		if e.Text != "" {
			e.Text += "; "
		}
		e.Text += s.Node + ": " + s.Text
	}
	return e
}

// members returns the cluster as a node of it sees it.
func (n *node) members(ctx context.Context) ([]*member, *Error) {
	var all []*member
	text, err := n.client.ClusterNodes(ctx).Result()
	if err == nil {
		all, err = parseNodes(text)
	}
	if err != nil {
		e := classify("find the nodes", "", n.Addr, false, err)
		if e.Reason == ErrRejected && isReply(err) {
			e.Reason = ErrUnsupported
			e.Text = "it does not list a cluster's nodes (" + err.Error() + "); if the server is not a cluster node, use redis://"
		}
		return nil, e
	}
	// CLUSTER SHARDS has the hosts that clients use. Without it, the list has addresses.
	shards, _ := n.client.Do(ctx, "CLUSTER", "SHARDS").Slice()
	endpoints := map[string]string{}
	for _, shard := range shards {
		nodes, _ := fieldMap(shard)["nodes"].([]any)
		for _, item := range nodes {
			id, _ := fieldMap(item)["id"].(string)
			endpoint, known := fieldMap(item)["endpoint"]
			if text, _ := endpoint.(string); known && text != "?" {
				endpoints[id] = text // "" also for nil, the host that clients have reached already
			}
		}
	}
	for _, m := range all {
		m.addr = m.addrFor(n.Addr, endpoints)
	}
	return all, nil
}

// A member is a node of a cluster.
type member struct {
	id      string
	addr    string // as announced, and then for the loader
	flags   []string
	primary string   // of a replica: the ID of its primary
	slots   []string // 5, 0-5460, and those that come or go: [93->-id] or [77-<-id], which only the node itself lists, at the end
}

// is reports whether the member has a flag, such as "myself" or "fail?".
func (m *member) is(flag string) bool { return slices.Contains(m.flags, flag) }

// parseNodes parses the reply of CLUSTER NODES. It ignores fields and flags that it does not know.
func parseNodes(text string) ([]*member, error) {
	var all []*member
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 {
			m := parseMember(fields)
			if m == nil {
				return nil, malformed("the list of the cluster's nodes has a malformed line %q", strings.TrimSpace(line))
			}
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return nil, malformed("the list of the cluster's nodes is empty")
	}
	return all, nil
}

// parseMember parses `id ip:port@busport[,hostname[,...]] flags primary ping pong epoch link [slots...]`. It returns nil for anything else.
func parseMember(fields []string) *member {
	if len(fields) < 8 || !strings.Contains(fields[1], ":") {
		return nil
	}
	addr := fields[1][:strings.IndexAny(fields[1]+"@", "@,")]
	return &member{id: fields[0], addr: addr, flags: strings.Split(fields[2], ","), primary: fields[3], slots: fields[8:]}
}

// free returns which hash slots the member owns and keeps.
func (m *member) free() ([]bool, error) {
	free := make([]bool, servers.Slots)
	for _, field := range m.slots {
		number, last, _ := strings.Cut(strings.TrimPrefix(field, "["), "-")
		moves := field[0] == '['
		if moves {
			last = ""
		}
		from, err := strconv.Atoi(number)
		to, lastErr := strconv.Atoi(cmp.Or(last, number))
		if err != nil || lastErr != nil || from < 0 || to >= servers.Slots {
			return nil, malformed("the list of the cluster's nodes has the malformed slots %q", field)
		}
		for slot := from; slot <= to; slot++ {
			free[slot] = !moves
		}
	}
	return free, nil
}

// addrFor returns the member's address for a client that has read about it from the server at seed. endpoints may lack the member.
func (m *member) addrFor(seed string, endpoints map[string]string) string {
	colon := strings.LastIndexByte(m.addr, ':')
	host, port := strings.Trim(m.addr[:colon], "[]"), m.addr[colon+1:]
	if endpoint, ok := endpoints[m.id]; ok {
		host = endpoint
	}
	if host == "" { // a node without peers does not know its address
		host, _, _ = net.SplitHostPort(seed)
	}
	return net.JoinHostPort(host, port)
}

// unreachable returns why connecting to the member is pointless, or "".
func (m *member) unreachable() string {
	for flag, why := range map[string]string{
		"noaddr": "the cluster does not know its address", "handshake": "it is joining the cluster", "fail": "the cluster has marked it as failed",
	} {
		if m.is(flag) {
			return why + "; if it is gone for good, `CLUSTER FORGET " + m.id + "` on every other node"
		}
	}
	return ""
}

// revision returns the key of the primary's revision, or "" if it takes no keys.
func (n *node) revision(ctx context.Context) (string, error) {
	if !n.ask(ctx).server.Cluster {
		return "rlfunc:{deploy}:revision", nil
	}
	text, err := n.client.ClusterNodes(ctx).Result()
	if err != nil {
		return "", err
	}
	return revisionKey(text)
}

// revisionKey returns the key of the revision of the node whose CLUSTER NODES has this text. A node takes only keys of its own hash slots,
// so each primary has its own key. A key of a slot that moves may be on either node.
func revisionKey(nodes string) (string, error) {
	members, err := parseNodes(nodes)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(members, func(m *member) bool { return m.is("myself") })
	if i < 0 {
		return "", malformed("the list of the cluster's nodes does not say which one is its own")
	}
	free, err := members[i].free()
	if err != nil {
		return "", err
	}
	owns := slices.Contains(free, true)
	// The slots of the numbers are spread evenly. An owner of a single slot needs servers.Slots tries on average; one of e^64 such
	// owners needs more than 64 times as many.
	for number := 0; owns && number < 64*servers.Slots; number++ {
		if tag := "deploy:" + strconv.Itoa(number); free[servers.Slot(tag)] {
			return "rlfunc:{" + tag + "}:revision", nil
		}
	}
	return "", nil
}

// isReply reports whether an error is a server's reply.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}
