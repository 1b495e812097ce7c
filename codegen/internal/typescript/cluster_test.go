package typescript_test

import (
	"net"
	"testing"

	"github.com/rlfunc/rlfunc/codegen/internal/clienttest"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// onACluster runs the clients over a Cluster: redirects, missing libraries, dead primaries and lost replies.
func onACluster(t *testing.T, dir string, env []string) {
	program := engines.OnPath(t)
	// A primary that gives its last slot away would become a replica. The tests tell which replica takes over: a node that is
	// silent for a while, on a busy machine, is not to be found dead. For twice that time nobody votes for its replica again.
	cluster := program.StartCluster(t, 2, 1, "--cluster-allow-replica-migration", "no", "--cluster-node-timeout", "10000")
	empty := cluster.Join(t, program) // an address that CLUSTER SLOTS does not list
	// Clients of the second cluster meet its only node through a proxy that loses replies.
	alone := program.StartCluster(t, 1, 0)
	proxy := clienttest.Proxy(t, alone.Primaries[0].Addr)
	_, port, _ := net.SplitHostPort(proxy)
	if err := alone.Primaries[0].Client(t).ConfigSet(t.Context(), "cluster-announce-port", port).Err(); err != nil {
		t.Fatal(err)
	}
	env = append(env,
		"PRIMARY0="+cluster.Primaries[0].Addr, "PRIMARY1="+cluster.Primaries[1].Addr, "REPLICA0="+cluster.Replicas[0].Addr, "REPLICA1="+cluster.Replicas[1].Addr,
		"EMPTY="+empty.Addr, "PROXY="+proxy, "BEHIND="+alone.Primaries[0].Addr,
		"REDIS_NODES=127.0.0.1:1,"+cluster.Primaries[0].Addr,
	)
	if out := clienttest.Run(t, dir, env, onpath.Program(t, "node"), "page2.js"); out != "true 9\n" {
		t.Errorf("the page's block printed %q", out)
	}
	clienttest.Run(t, dir, env, onpath.Program(t, "node"), "--test", "cluster.js")
}
