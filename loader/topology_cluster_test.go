package loader_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/loader"
)

// newFakeCluster returns a server with the given cluster state. nodes is CLUSTER NODES without its last columns.
func newFakeCluster(t *testing.T, shards string, nodes ...string) *fakeServer {
	t.Helper()
	plain := answers("redis_version:7.2.0\r\nrole:master\r\ncluster_enabled:1\r\n", nil)
	return newFakeServer(t, func(command string, args []string) string {
		switch {
		case command != "CLUSTER":
			return plain(command, args)
		case strings.EqualFold(args[1], "NODES"):
			return bulk(strings.Join(nodes, "\n") + "\n")
		case strings.EqualFold(args[1], "SHARDS") && shards != "":
			return shards
		}
		return "-ERR unknown subcommand\r\n"
	})
}

func TestClusterNodes_parsesServerFormats(t *testing.T) {
	const rest = " 0 0 1 connected"
	shard := func(id, endpoint string) string {
		return "*2\r\n" + bulk("nodes") + "*1\r\n*4\r\n" + bulk("id") + bulk(id) + bulk("endpoint") + endpoint
	}
	tests := []struct {
		name   string
		shards string
		nodes  []string
		want   []loader.Node
	}{
		{
			"Redis 7.0", "",
			[]string{
				"a 10.0.0.1:7001@17001 myself,master -" + rest + " 0-5460 5462 [5461->-b]",
				"b 10.0.0.2:7002@17002 master -" + rest + " 5463-16383",
				"c 10.0.0.3:7003@17003 slave b" + rest,
				"d 10.0.0.2:10001@20001 master -" + rest,
			},
			[]loader.Node{
				{Addr: "10.0.0.1:7001", Role: loader.Primary},
				{Addr: "10.0.0.2:10001", Role: loader.Primary},
				{Addr: "10.0.0.2:7002", Role: loader.Primary},
				{Addr: "10.0.0.3:7003", Role: loader.Replica, Follows: "10.0.0.2:7002"},
			},
		},
		{
			"names and further fields", "",
			[]string{
				"a 10.0.0.1:7001@17001,one.internal,tls-port=0,shard-id=x myself,master,future -" + rest + " 0-16383",
				"b fd00::2:7002@17002,two.internal slave a" + rest,
			},
			[]loader.Node{
				{Addr: "10.0.0.1:7001", Role: loader.Primary},
				{Addr: "[fd00::2]:7002", Role: loader.Replica, Follows: "10.0.0.1:7001"},
			},
		},
		{
			"names are preferred", "*2\r\n" + shard("a", bulk("one.internal")) + shard("b", bulk("?")),
			[]string{
				"a 10.0.0.1:7001@17001,one.internal myself,master -" + rest + " 0-16383",
				"b 10.0.0.2:7002@17002 master -" + rest,
			},
			[]loader.Node{
				{Addr: "10.0.0.2:7002", Role: loader.Primary},
				{Addr: "one.internal:7001", Role: loader.Primary},
			},
		},
		{
			"a host that only the client knows", "*1\r\n" + shard("a", "$-1\r\n"),
			[]string{"a 10.0.0.1:7001@17001 myself,master -" + rest},
			[]loader.Node{{Addr: "127.0.0.1:7001", Role: loader.Primary}},
		},
		{
			"a server without peers", "",
			[]string{"a :7001@17001 myself,master -" + rest + " 0-16383"},
			[]loader.Node{{Addr: "127.0.0.1:7001", Role: loader.Primary}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newFakeCluster(t, tt.shards, tt.nodes...)
			client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.addr}})
			defer client.Close()
			got, err := loader.NewTarget(client).Nodes(t.Context())
			equal(t, "error", nil, err)
			equal(t, "nodes", tt.want, got)
		})
	}
}

func TestClusterNodes_reportsUnreachableNodes(t *testing.T) {
	const rest = " 0 0 1 connected"
	s := newFakeCluster(
		t, "",
		"a 10.0.0.1:1@2 master,fail -"+rest+" 0-16383", "b 10.0.0.2:1@2 master,fail -"+rest,
		"c :0@0 master,noaddr -"+rest, "d 10.0.0.4:1@2 handshake -"+rest, "e 10.0.0.5:1@2 slave,fail a"+rest,
	)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.addr}})
	defer client.Close()
	p := planOf(t, loader.NewTarget(client), bundle("shop", "1.0.0", "buy"))
	var got []string
	for _, n := range p.Nodes {
		switch {
		case n.Problem != nil:
			equal(t, "reason", loader.ErrUnreachable, n.Problem.Reason)
			got = append(got, n.Problem.Text)
		default:
			got = append(got, "warning: "+n.Warnings[0].Text)
		}
	}
	equal(t, "what is said", []string{
		"the cluster has marked it as failed; if it is gone for good, `CLUSTER FORGET a` on every other node",
		"warning: this replica of 10.0.0.1:1 cannot be read: the cluster has marked it as failed; if it is gone for good, `CLUSTER FORGET e` on every other node",
		"the cluster has marked it as failed; if it is gone for good, `CLUSTER FORGET b` on every other node",
		"it is joining the cluster; if it is gone for good, `CLUSTER FORGET d` on every other node",
		"the cluster does not know its address; if it is gone for good, `CLUSTER FORGET c` on every other node",
	}, got)
	equal(t, "warnings", []string{"replica_unread"}, warnings(p))
}

func TestClusterNodes_usesLargestView(t *testing.T) {
	const rest = " 0 0 1 connected"
	forgotten := newFakeCluster(t, "", "a 10.0.0.1:7001@17001 myself,master -"+rest)
	member := newFakeCluster(t, "", "b 10.0.0.2:7002@17002 myself,master -"+rest+" 0-16383", "c 10.0.0.3:7003@17003 master -"+rest)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{forgotten.addr, "127.0.0.1:1", member.addr}})
	defer client.Close()
	got, err := loader.NewTarget(client).Nodes(t.Context())
	equal(t, "error", nil, err)
	equal(t, "nodes", []loader.Node{{Addr: "10.0.0.2:7002", Role: loader.Primary}, {Addr: "10.0.0.3:7003", Role: loader.Primary}}, got)
}

func TestClusterNodes_rejectsMalformedList(t *testing.T) {
	for _, line := range []string{"a", "a 10.0.0.1 master - 0 0 1 connected", ""} {
		s := newFakeCluster(t, "", line)
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.addr}})
		defer client.Close()
		_, err := loader.NewTarget(client).Nodes(t.Context())
		says(t, err, loader.ErrRejected, "find the nodes: "+s.addr+": the list of the cluster's nodes")
	}
}
