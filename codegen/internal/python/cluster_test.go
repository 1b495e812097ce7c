package python_test

import (
	"net"
	"testing"

	"github.com/rlfunc/rlfunc/codegen/internal/clienttest"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// TestClients_onACluster runs the clients over redis-py's cluster clients: redirects, missing libraries, failovers and lost replies.
func TestClients_onACluster(t *testing.T) {
	dir := installed(t, "../../../functions")
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
	env := append(environment(dir), "REDIS="+cluster.Primaries[0].Addr, "REPLICA="+cluster.Replicas[0].Addr, "EMPTY="+empty.Addr,
		"PROXY="+proxy, "BEHIND="+alone.Primaries[0].Addr)
	clienttest.Run(t, dir, env, interpreter, "-m", "pytest", "-q", "-p", "no:cacheprovider", absolute(t, "testdata/test_cluster.py"))
}
